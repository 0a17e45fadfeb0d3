"""Parts are declared where they stand: what is read of their files, and what is refused."""

from pathlib import Path

import pytest

from zoo.registry import AXES, Component, Owner, Register
from zoo.registry.component import PluginError
from zoo.registry.declarations import part, register_parts
from zoo.registry.loading import built_ins

HEAD = """
from torch import nn
from zoo import part
from zoo.components.attention.base import MultiHead
from zoo.components.attention.fused import Fused
from zoo.components.pe.rope import Rotary

"""


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """Reads the parts of a package of these files; the first is its ``__init__``."""
    monkeypatch.syspath_prepend(tmp_path)
    count = iter(range(9))

    def read(*files: str) -> dict[str, Component]:
        package = tmp_path / f"declared_{tmp_path.name.replace('-', '_')}_{next(count)}"
        package.mkdir()
        for name, text in zip(("__init__", "one", "two"), files, strict=False):
            (package / f"{name}.py").write_text(HEAD + text, "utf-8")
        register = Register(Owner("declared", "1"))
        register_parts(register, package.name)
        return {component.name: component for component in register.components}

    return read


def test_capabilities_are_those_of_the_base_class_more_or_less(parts):
    declared = parts(
        "",
        "@part('attention', 'own', adds=('exact',), lacks=('cache',))\n"
        "class Own(MultiHead):\n    '''My own.'''\n\n"
        "class Between(Own):\n    capabilities = ('padding',)\n\n"
        "@part('attention', 'above', adds=('map',))\n"
        "class Above(Between):\n    '''Above it.'''\n\n"
        "@part('attention', 'anew', adds=('map',))\n"
        "class Anew(MultiHead):\n    '''Of its own.'''\n    capabilities = ('causal',)\n",
        "@part('attention', 'fast')\nclass Fast(Fused):\n    '''Fast.'''\n",
    )
    full = built_ins().get("attention", "fused").capabilities
    assert declared["own"].capabilities == full - {"map", "cache"}
    assert declared["above"].capabilities == {"padding", "map"}
    assert declared["anew"].capabilities == {"causal", "map"}
    assert declared["fast"].capabilities == full


def test_parameters_are_those_that_the_contract_does_not_pass(parts):
    declared = parts(
        "@part('pe', 'wide')\nclass Wide(Rotary):\n    '''Its parameters are its base's.'''\n",
        "@part('pool', 'few')\ndef few(dim, *, share: float = -0.5, names=('a', 'b'), n=None):\n"
        "    '''Three of its own.'''\n",
    )
    assert dict(declared["wide"].parameters) == {"base": 10000.0}
    assert dict(declared["few"].parameters) == {"share": -0.5, "names": ("a", "b"), "n": None}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("NAME = 'x'\n@part('norm', NAME)\ndef f(dim):\n    '''It.'''", "must be a literal"),
        ("@part('norm', 'x', source=str(3))\ndef f(dim):\n    '''It.'''", "'source' must be a lit"),
        ("@part('norm', 'x')\ndef f(dim, eps=EPS):\n    '''It.'''", "the default of 'eps' must be"),
        (
            "@part('norm', 'x', adds=('unbiased'))\ndef f(dim): 'N.'",
            "write adds=('unbiased',), with a comma",
        ),
        (
            "@part('norm', 'x')\nclass F:\n    'N.'\n    capabilities = 'unbiased'",
            "capabilities: write ('unbiased',), with a comma",
        ),
        ("@part('norm', 'x')\ndef f(dim): pass", "f has no docstring, whose first line is its sum"),
        ("@part('norm', 'x')\ndef f(dim, size):\n    '''It.'''", "parameter 'size' has no default"),
        ("@part('nrom', 'x')\ndef f(dim):\n    '''It.'''", "no kind 'nrom'; did you mean 'norm'"),
        ("@part('norm', 'X!')\ndef f(dim):\n    '''It.'''", "illegal norm name 'X!'"),
        ("@part('norm', 'x', adds=('eagr',))\ndef f(dim):\n    '''It.'''", "did you mean 'eager'"),
        (
            "@part('norm', 'x', lacks=('eager',))\ndef f(dim):\n    '''It.'''",
            "'x' lacks eager",
        ),
        (
            "@part('norm', 'x', cost=3)\ndef f(dim):\n    '''It.'''",
            "write part(KIND, NAME",
        ),
        ("@part('norm', 'x')\ndef f(dim:", "SyntaxError"),
    ],
)
def test_what_cannot_be_read_is_refused_with_file_and_line(parts, text, reason):
    with pytest.raises(PluginError) as error:
        parts("", text)
    assert reason in str(error.value)
    file, line, _ = str(error.value).split(":", 2)
    assert Path(file).name == "one.py"
    assert int(line) > len(HEAD.splitlines())


def test_declaring_changes_nothing():
    def function() -> None:
        """It."""

    assert part("norm", "mine")(function) is function


def test_all_parts_of_the_zoo_are_declared_with_a_summary_and_most_with_a_source():
    registry = built_ins()
    components = [c for kind in AXES[:4] for c in registry.components(kind)]
    assert all(component.summary for component in components)
    assert {c.name for c in components if not c.source} == {"none"}
