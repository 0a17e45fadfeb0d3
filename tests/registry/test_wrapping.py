"""Components that are built around another one: ``bidirectional(NAME)``."""

from __future__ import annotations

import pytest
from refused import refusal

from zoo.inference.card import Part
from zoo.registry import Owner, Register, Registry
from zoo.registry.code_hash import plugin_hashes


@pytest.fixture
def parts(registry) -> Registry:
    register = Register(Owner("elsewhere", "1"))
    register(
        "attention",
        "my-scan",
        "zoo.components.attention.split:Split",
        summary="a scan",
        capabilities=("rotate", "padding", "causal", "causal-only", "cache", "random"),
        parameters={"size": 4},
    )
    register("attention", "both-ways", dict, summary="", capabilities=("padding",))
    registry.admit(register)
    return registry


@pytest.mark.parametrize(
    ("text", "name", "inner", "given"),
    [
        (" bidirectional( my-scan ) ", "bidirectional(my-scan)", "my-scan", {}),
        (
            "bidirectional(my-scan(size=2), merge='concat')",
            "bidirectional(my-scan(size=2), merge='concat')",
            "my-scan(size=2)",
            {"merge": "concat"},
        ),
        (
            "bidirectional(elsewhere:my-scan(3),'concat')",
            "bidirectional(my-scan(size=3), merge='concat')",
            "my-scan(size=3)",
            {"merge": "concat"},
        ),
    ],
)
def test_a_name_in_brackets_is_what_it_is_built_around(parts, text, name, inner, given):
    choice = parts.choose("attention", text)
    assert str(choice) == name
    assert str(choice.inner) == inner
    assert dict(choice.given) == given
    again = parts.choose("attention", str(choice))
    assert (str(again), again.given) == (str(choice), choice.given)


LACKS = "does not declare 'causal' (attends only to the past when asked)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bidirectional", "attention 'bidirectional' is built around another attention: write bid"),
        ("encoder-zoo:bidirectional(absent)", "no attention 'absent'"),
        ("bidirectional(both-ways)", f"bidirectional(both-ways): both-ways {LACKS}"),
        (
            "bidirectional(fused/naive)",
            "'fused/naive' is a pattern over layers; here one",
        ),
        ("bidirectional(fused, merge=3)", "attention 'bidirectional': 'merge' must be of type str"),
        ("bidirectional(fused, size=3)", "attention 'bidirectional' has no parameter 'size'"),
        (
            "bidirectional(bidirectional(fused))",
            f"bidirectional(bidirectional(fused)): bidirectional(fused) {LACKS}",
        ),
    ],
)
def test_a_bad_name_is_one_clear_line(parts, text, message):
    assert refusal(lambda: parts.choose("attention", text)).startswith(message)


def test_its_capabilities_are_its_own_and_those_it_keeps(parts):
    fused = parts.choose("attention", "bidirectional(fused)")
    scan = parts.choose("attention", "bidirectional(my-scan)")
    for choice in (fused, scan):
        assert choice.can("order", "rotate", "padding")
        for lost in ("causal", "causal-only", "cross", "cache", "exact", "map"):
            assert not choice.can(lost)
    assert fused.can("bias", "content-bias")
    assert not scan.can("bias")
    assert scan.can("random")
    assert not fused.can("random")


def test_records_and_saved_models_name_both(parts):
    choice = parts.choose("attention", "bidirectional(my-scan(size=2), merge='concat')")
    assert [one.component.name for one in choice.nested] == ["bidirectional", "my-scan"]
    assert set(plugin_hashes([choice])) == {"elsewhere"}
    part = Part.of(choice)
    assert part.full_name == "encoder-zoo:bidirectional"
    assert part.choice == ("encoder-zoo:bidirectional(elsewhere:my-scan(size=2), merge='concat')")
    assert str(parts.choose("attention", part.choice)) == str(choice)
    assert part.code != Part.of(parts.choose("attention", "bidirectional(fused)")).code


@pytest.mark.parametrize("merge", ["sum", "concat"])
def test_it_is_built_with_what_its_inner_one_asks_for(registry, merge):
    asked: list[dict[str, object]] = []

    def inner(
        dim: int, heads: int, *, dropout: float, max_length: int, layer_index: int, size: int = 3
    ) -> object:
        from zoo.components.attention.split import Split

        asked.append({"max_length": max_length, "layer_index": layer_index, "size": size})
        return Split(dim, heads, dropout=dropout)

    register = Register(Owner("elsewhere", "1"))
    register(
        "attention",
        "asks",
        inner,
        summary="",
        capabilities=("causal", "fixed-length"),
        parameters={"size": 3},
    )
    registry.admit(register)
    choice = registry.choose("attention", f"bidirectional(asks(size=5), merge='{merge}')")
    built = choice.build(8, 2, dropout=0.0, max_length=9, offered={"layer_index": 7})
    assert asked == [{"max_length": 9, "layer_index": 7, "size": 5}] * 2
    assert (built.heads, built.head_dim, built.join is None) == (2, 4, merge == "sum")
