"""Which cells cannot work is known, with the reason, before anything is built."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from zoo.config.sizes import Sizes
from zoo.registry import AXES, Owner, Register, Registry
from zoo.registry.cell import Cell
from zoo.tasks.base import find_task

Parse = Callable[..., Cell]
NEEDS = {"attention": frozenset({"padding"})}  # what classification needs
USUAL = dict(zip(AXES, ("fused", "rope", "layer", "relu", "pre", "mean"), strict=True))


@pytest.fixture
def parse(registry: Registry) -> Parse:
    """A cell of the usual choices, save those named; three attentions lack something."""
    register = Register(Owner("elsewhere", "1"))
    for name, capabilities in {
        "deaf": ("rotate", "padding"),
        "stiff": ("bias", "padding"),
        "leaky": ("rotate", "bias"),
    }.items():
        register("attention", name, object, summary=name, capabilities=capabilities)
    register("pe", "looking", object, summary="looking", capabilities=("content-bias",))
    registry.admit(register)
    return lambda **names: Cell.parse(registry, USUAL | names)


NO_PADDING = (
    "leaky does not declare 'padding', which the task needs "
    "(padded positions never influence real ones)"
)


@pytest.mark.parametrize(
    ("parts", "dim", "heads", "reason"),
    [
        ("", 64, 4, ""),
        ("attention=torch", 64, 4, "torch cannot rotate queries and keys, which rope needs"),
        ("attention=torch pe=alibi", 64, 4, ""),
        ("attention=stiff", 64, 4, "stiff cannot rotate queries and keys, which rope needs"),
        (
            "attention=stiff pe=rope(base=100.0)",
            *(64, 4),
            "stiff cannot rotate queries and keys, which rope(base=100.0) needs",
        ),
        ("attention=stiff pe=alibi", 64, 4, ""),
        ("attention=deaf", 64, 4, ""),
        ("attention=deaf pe=alibi", 64, 4, "deaf cannot add a score bias, which alibi needs"),
        ("pe=looking", 64, 4, ""),
        (
            "attention=torch pe=looking",
            *(64, 4),
            "torch cannot add a bias that depends on queries and keys, which looking needs",
        ),
        ("attention=leaky", 64, 4, NO_PADDING),
        ("pe=sin", 64, 5, "width 64 is not divisible into 5 heads"),
        ("attention=naive", 64, 128, "width 64 is not divisible into 128 heads"),
        ("attention=single", 64, 5, ""),
        ("", 12, 4, "rope needs an even head width, not 3"),
        ("pe=alibi", 12, 4, ""),
        ("attention=single", 12, 4, ""),
        ("attention=single", 7, 1, "rope needs an even head width, not 7"),
        (
            "attention=fused/torch pe=none/rope",
            *(64, 4),
            "torch cannot rotate queries and keys, which rope needs (layer 2)",
        ),
        ("attention=fused/torch pe=rope/none", 64, 4, ""),
        ("attention=deaf/stiff pe=rope/alibi", 64, 4, ""),
        ("attention=fused/leaky", 64, 4, NO_PADDING),
        (
            "attention=single/naive pe=none/rope",
            *(12, 4),
            "rope needs an even head width, not 3 (layer 2)",
        ),
        ("attention=single/naive pe=rope/none", 12, 4, ""),
        (
            "pe=sin/learned",
            *(64, 4),
            "only one encoding can add to the embeddings, not sin and learned",
        ),
        (
            "pe=sin/sin(base=5.0)",
            *(64, 4),
            "only one encoding can add to the embeddings, not sin and sin(base=5.0)",
        ),
        ("pe=sin/rope", 64, 4, ""),
        (
            "ffn=gelu/gelu/none",
            *(64, 4),
            "ffn 'gelu/gelu/none' is a pattern of 3 components, and the model has 2 layers",
        ),
    ],
)
def test_each_obstacle_is_named_and_what_is_not_asked_for_is_none(
    parse: Parse, parts: str, dim: int, heads: int, reason: str
) -> None:
    cell = parse(**dict(part.split("=", 1) for part in parts.split()))
    assert cell.refusal(Sizes(dim=dim, heads=heads), NEEDS) == reason


def test_among_the_built_ins_torch_with_rope_alone_is_impossible(registry: Registry) -> None:
    impossible = {
        (attention, pe)
        for attention, pe in itertools.product(
            map(str, registry.choices("attention", "all")), registry.labels("pe")
        )
        if Cell.parse(registry, USUAL | {"attention": attention, "pe": pe}).refusal(Sizes(), NEEDS)
    }
    assert impossible == {("torch", "rope")}


def test_a_cells_names_are_read_back_as_the_same_cell(parse: Parse, registry: Registry) -> None:
    scan = "bidirectional(fused, merge='concat')/leaky"
    cell = parse(attention=scan, pe="rope(base=500)/none", norm="rms(eps=1e-3)", ffn="gelu/gelu")
    expected = (scan, "rope(base=500.0)/none", "rms(eps=0.001)", "gelu", "pre", "mean")
    assert cell.names == dict(zip(AXES, expected, strict=True))
    assert str(cell) == "+".join(expected)
    assert Cell.parse(registry, cell.names).names == cell.names
    assert [str(choice) for choice in cell.choices] == [
        piece for name in expected for piece in name.split("/")
    ]


def test_only_layers_that_there_are_count(parse: Parse) -> None:
    """With three layers, torch and rope never meet; the fourth has both."""
    cell = parse(attention="fused/torch", pe="rope/none/alibi")
    assert cell.refusal(Sizes(layers=3), NEEDS) == ""
    assert cell.refusal(Sizes(layers=4), NEEDS).endswith("which rope needs (layer 4)")


@pytest.mark.parametrize(
    ("task", "parts", "reason"),
    [
        ("lm", "", ""),
        ("seq2seq", "", ""),
        ("lm", "attention=onward", ""),
        ("lm", "block=closed", ""),
        ("classify", "attention=blurred block=closed", ""),
        ("lm", "attention=blurred", "blurred does not declare 'causal', which the task needs"),
        ("seq2seq", "attention=blurred", "blurred does not declare 'causal', which the task needs"),
        ("seq2seq", "attention=onward", "onward does not declare 'cross', which the task needs"),
        ("seq2seq", "block=closed", "closed does not declare 'cross', which the task needs"),
        ("lm", "attention=scan", ""),
        (
            "classify",
            "attention=scan",
            "scan attends only to the past: an encoder has bidirectional(scan)",
        ),
        ("classify", "attention=bidirectional(scan)", ""),
        ("lm", "attention=bidirectional(scan)", "bidirectional(scan) does not declare 'causal'"),
        ("classify", "ffn=blur", ""),
        ("lm", "ffn=blur", "blur reads later tokens too, which the task forbids"),
        ("lm", "ffn=lag", ""),
    ],
)
def test_a_cell_that_lacks_what_a_task_needs_is_refused(
    registry: Registry, task: str, parts: str, reason: str
) -> None:
    register = Register(Owner("elsewhere", "1"))
    common = ("rotate", "bias", "padding")
    for kind, name, capabilities in (
        ("attention", "blurred", (*common, "cross")),
        ("attention", "onward", (*common, "causal")),
        ("attention", "scan", (*common, "causal", "causal-only")),
        ("block", "closed", ()),
        ("ffn", "blur", ("neighbours",)),
        ("ffn", "lag", ("neighbours", "causal")),
    ):
        register(kind, name, object, summary="", capabilities=capabilities)
    registry.admit(register)
    cell = Cell.parse(registry, USUAL | dict(part.split("=") for part in parts.split()))
    found = cell.refusal(Sizes(dim=8, heads=2), find_task(registry, task).needs)
    assert found.startswith(reason)
    assert bool(found) == bool(reason)
