"""A part that is written for an earlier contract is refused in one line that says what to write."""

from __future__ import annotations

import pytest

from zoo.components.attention.base import Attention, MultiHead, ProjectedAttention
from zoo.components.block.base import Block
from zoo.components.block.pre import Pre
from zoo.components.ffn.gelu import GELU
from zoo.errors import ComponentError, ZooError
from zoo.registry import Choice, Owner, Register
from zoo.registry.loading import load

OLD = [
    (Attention, "forward(self, x, context=None, *, tokens, position)", "forward(self, x, layer)"),
    (Attention, "forward(self, x, context=None, **rest)", "forward(self, x, layer)"),
    (
        ProjectedAttention,
        "mix(self, q, k, v, queries, keys, position, causal)",
        "mix(self, q, k, v, layer)",
    ),
    (ProjectedAttention, "adjust(self, q, k, v)", "adjust(self, q, k, v, layer)"),
    (ProjectedAttention, "output(self, heads, x)", "output(self, heads, x, layer)"),
    (ProjectedAttention, "rotate(self, x, tokens, position)", "rotate(self, q, k, layer)"),
    (
        MultiHead,
        "attend(self, q, k, v, mask, bias, layer=None)",
        "attend(self, q, k, v, mask, bias)",
    ),
    (
        MultiHead,
        "mask_and_bias(self, q, queries, keys, position, causal)",
        "mask_and_bias(self, q, k, layer)",
    ),
    (Block, "forward(self, x, context)", "forward(self, x, layer)"),
    (Pre, "feed_forward(self, h, context)", "feed_forward(self, h, layer, ffn)"),
]


@pytest.mark.parametrize(("base", "old", "new"), OLD)
def test_a_class_with_an_old_method_is_refused_when_it_is_defined(base, old, new):
    with pytest.raises(TypeError) as refused:
        exec(f"class Mine(Base):\n    def {old}: pass", {"Base": base})
    line = str(refused.value)
    assert line.startswith(f"Mine.{old.partition('(')[0]}(")
    assert line.endswith(f"is written for an earlier zoo: write {new}")
    assert "\n" not in line


def test_methods_of_ones_own_may_take_anything():
    for base in {base for base, *_ in OLD}:
        names = {"Base": base}
        exec("class Mine(Base):\n    def score(self, q, k, *, scale): pass", names)
        assert issubclass(names["Mine"], base)


class OldNetwork(GELU):
    def forward(self, x):
        return super().forward(x, None)


def test_a_network_of_the_old_signature_is_refused_when_it_is_built():
    register = Register(Owner("mine.py", "0"))
    register("ffn", "lazy", lambda *sizes: OldNetwork(*sizes), summary="of a function")
    with pytest.raises(ComponentError) as refused:
        Choice(register.components[0], "lazy").build(8, 16, 0.0)
    assert str(refused.value) == (
        "ffn 'lazy' of mine.py 0: OldNetwork.forward(x) is written for an earlier zoo: "
        "write forward(self, x, layer)"
    )


PLUGIN = """
import torch
from zoo import hookimpl

class Mine(torch.nn.Linear):
    def forward(self, x):
        return x

@hookimpl
def zoo_register(register):
    register("ffn", "mine", Mine, summary="old")
"""


def test_a_plug_in_file_of_the_old_signature_is_refused_when_it_is_loaded(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN, "utf-8")
    with pytest.raises(ZooError) as refused:
        load([file])
    line = str(refused.value)
    assert "cannot be used: " in line
    assert "is written for an earlier zoo: write " in line
    assert "\n" not in line
