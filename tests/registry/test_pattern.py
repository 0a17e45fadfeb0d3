"""Patterns as text: what is read, what is written, and what is refused."""

from __future__ import annotations

import random

import pytest
from refused import refusal

from zoo.cli import main
from zoo.registry.catalog import split_pattern
from zoo.registry.cell import layers_text


def test_random_patterns_are_read_back_as_they_are_written(registry):
    draw = random.Random(0)
    names = ["rope", "none", "sin(base=3.0)", "rope(base=7.0)", "learned"]
    for _ in range(200):
        chosen = [draw.choice(names) for _ in range(draw.randint(1, 8))]
        pattern = registry.layers("pe", "/".join(chosen))
        assert len(chosen) % len(pattern) == 0
        written = [str(choice) for choice in pattern]
        assert written * (len(chosen) // len(pattern)) == chosen
        # No shorter pattern gives these layers.
        for shorter in range(1, len(pattern)):
            assert any(written[i % shorter] != written[i % len(written)] for i in range(56))
        assert registry.layers("pe", layers_text(pattern)) == pattern


@pytest.mark.parametrize(
    ("text", "shortest"),
    [
        ("fused/fused", "fused"),
        ("fused/naive/fused/naive", "fused/naive"),
        ("fused/naive/fused", "fused/naive/fused"),
        ("fused/fused/naive", "fused/fused/naive"),
    ],
)
def test_equal_models_have_one_name(registry, text, shortest):
    assert layers_text(registry.layers("attention", text)) == shortest
    both = registry.patterns("attention", f"{shortest},{text}")
    assert [layers_text(choices) for choices in both] == [shortest]


def test_patterns_stand_in_comma_lists(registry):
    found = registry.patterns("pe", "rope,sin(base=5.0)/none,rope/none")
    assert [layers_text(choices) for choices in found] == [
        "rope",
        "sin(base=5.0)/none",
        "rope/none",
    ]
    every = registry.patterns("pe", "all")
    assert [layers_text(choices) for choices in every] == registry.labels("pe")


def test_a_slash_within_brackets_or_quotes_divides_nothing():
    assert split_pattern("a(x='b/c')/d(y=[1, '/'])/e") == ["a(x='b/c')", "d(y=[1, '/'])", "e"]


@pytest.mark.parametrize(
    ("axis", "text", "line"),
    [
        ("attention", "fused/", "attention 'fused/': a pattern has a name on both sides of a '/'"),
        ("attention", "/", "attention '/': a pattern has a name on both sides of a '/'"),
        ("pe", "rope//none", "pe 'rope//none': a pattern has a name on both sides of a '/'"),
        ("pe", "rope/roep", "no pe 'roep'; did you mean 'rope'?"),
        ("pe", "rope(bas=3)/none", "pe 'rope' has no parameter 'bas'; did you mean 'base'?"),
        ("pool", "mean/cls", "pool 'mean/cls': a model has one pool, which takes no pattern"),
    ],
)
def test_a_bad_pattern_is_one_line(registry, axis, text, line):
    assert refusal(lambda: registry.layers(axis, text)).startswith(line)


@pytest.mark.parametrize("command", ["check", "info"])
def test_a_command_for_one_component_takes_no_pattern(command, capsys):
    assert main([command, "attention/fused/naive"]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.endswith("'fused/naive' is a pattern over layers; here one attention is expected")
