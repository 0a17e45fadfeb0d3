"""Which cells cannot work is known, with the reason, before anything is built."""

import itertools
from collections.abc import Callable

import pytest

from zoo.config.sizes import Sizes
from zoo.registry import AXES, Owner, Register
from zoo.registry.cell import Cell
from zoo.tasks.base import find_task

Parse = Callable[..., Cell]
NEEDS = {"attention": frozenset({"padding"})}  # what classification needs
USUAL = dict(zip(AXES, ("fused", "rope", "layer", "relu", "pre", "mean"), strict=True))


@pytest.fixture
def parse(registry) -> Parse:
    """A cell of the usual choices, save those named; some of these lack something."""
    register = Register(Owner("elsewhere", "1"))
    common = ("rotate", "bias", "padding")
    for kind, name, capabilities in (
        ("attention", "deaf", ("rotate", "padding")),
        ("attention", "stiff", ("bias", "padding")),
        ("attention", "leaky", ("rotate", "bias")),
        ("pe", "looking", ("content-bias",)),
        ("attention", "blurred", (*common, "cross")),
        ("attention", "onward", (*common, "causal")),
        ("attention", "scan", (*common, "causal", "causal-only")),
        ("attention", "scan-of-two", (*common, "causal", "causal-only", "cross")),
        ("block", "closed", ()),
        ("ffn", "blur", ("neighbours",)),
        ("ffn", "lag", ("neighbours", "causal")),
    ):
        register(kind, name, object, summary=name, capabilities=capabilities)
    registry.admit(register)
    return lambda **names: Cell.parse(registry, USUAL | names)


NO_PADDING = (
    "leaky does not declare 'padding', which the task needs "
    "(padded positions never influence real ones)"
)
CANNOT = "torch cannot add a bias that depends on queries and keys, which looking needs"
ONLY_ONE = "only one encoding can add to the embeddings, not sin and"
TOO_LONG = "ffn 'gelu/gelu/none' is a pattern of 3 components, and the model has 2 layers"


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ("", ""),
        ("attention=torch", "torch cannot rotate queries and keys, which rope needs"),
        ("attention=torch pe=alibi", ""),
        (
            "attention=stiff pe=rope(base=9)",
            "stiff cannot rotate queries and keys, which rope(base=9.0) needs",
        ),
        ("attention=stiff pe=alibi", ""),
        ("attention=deaf", ""),
        ("attention=deaf pe=alibi", "deaf cannot add a score bias, which alibi needs"),
        ("pe=looking", ""),
        ("attention=torch pe=looking", CANNOT),
        ("attention=leaky", NO_PADDING),
        ("pe=sin heads=5", "width 64 is not divisible into 5 heads"),
        ("attention=single heads=5", ""),
        ("dim=12", "rope needs an even head width, not 3"),
        ("pe=alibi dim=12", ""),
        ("attention=single dim=12", ""),
        ("attention=single dim=7 heads=1", "rope needs an even head width, not 7"),
        (
            "attention=fused/torch pe=none/rope",
            "torch cannot rotate queries and keys, which rope needs (layer 2)",
        ),
        ("attention=fused/torch pe=rope/none", ""),
        ("attention=deaf/stiff pe=rope/alibi", ""),
        ("attention=fused/leaky", NO_PADDING),
        (
            "attention=single/naive pe=none/rope dim=12",
            "rope needs an even head width, not 3 (layer 2)",
        ),
        ("attention=single/naive pe=rope/none dim=12", ""),
        ("pe=sin/learned", f"{ONLY_ONE} learned"),
        ("pe=sin/sin(base=5.0)", f"{ONLY_ONE} sin(base=5.0)"),
        ("pe=sin/rope", ""),
        ("ffn=gelu/gelu/none", TOO_LONG),
    ],
)
def test_each_obstacle_is_named_and_what_is_not_asked_for_is_none(parse, parts, reason):
    names = dict(part.split("=", 1) for part in parts.split())
    sizes = {name: int(names.pop(name)) for name in ("dim", "heads") if name in names}
    assert parse(**names).refusal(Sizes(**sizes), NEEDS) == (reason or None)


def test_among_the_built_ins_torch_with_rope_alone_is_impossible(registry):
    impossible = {
        (attention, pe)
        for attention, pe in itertools.product(
            map(str, registry.choices("attention", "all")), registry.labels("pe")
        )
        if Cell.parse(registry, USUAL | {"attention": attention, "pe": pe}).refusal(Sizes(), NEEDS)
    }
    assert impossible == {("torch", "rope")}


def test_a_cells_names_are_read_back_as_the_same_cell(parse, registry):
    scan = "scan/leaky"
    cell = parse(attention=scan, pe="rope(base=500)/none", norm="rms(eps=1e-3)", ffn="gelu/relu")
    expected = (scan, "rope(base=500.0)/none", "rms(eps=0.001)", "gelu/relu", "pre", "mean")
    assert cell.names == dict(zip(AXES, expected, strict=True))
    assert str(cell) == "+".join(expected)
    assert Cell.parse(registry, cell.names).names == cell.names
    assert [str(choice) for choice in cell.choices] == [
        piece for name in expected for piece in name.split("/")
    ]


def test_only_layers_that_there_are_count(parse):
    """With three layers, torch and rope never meet; the fourth has both."""
    cell = parse(attention="fused/torch", pe="rope/none/alibi")
    assert cell.refusal(Sizes(layers=3), NEEDS) is None
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
        ("classify", "attention=scan", ""),
        ("seq2seq", "attention=scan-of-two", "scan-of-two attends only to the past, and the task"),
        ("classify", "ffn=blur", ""),
        ("lm", "ffn=blur", "blur reads later tokens too, which the task forbids"),
        ("lm", "ffn=lag", ""),
    ],
)
def test_a_cell_that_lacks_what_a_task_needs_is_refused(registry, parse, task, parts, reason):
    cell = parse(**dict(part.split("=") for part in parts.split()))
    refusal = cell.refusal(Sizes(dim=8, heads=2), find_task(registry, task).needs) or ""
    assert refusal.startswith(reason)
    assert bool(refusal) == bool(reason)


def test_only_an_encoder_runs_what_is_causal_by_nature_in_both_directions(registry, parse):
    needs = {name: find_task(registry, name).needs for name in ("classify", "lm")}
    for attention, both_ways in (("scan", True), ("fused/scan", True), ("onward", False)):
        cell = parse(attention=attention)
        assert cell.bidirectional(needs["classify"]) is both_ways
        assert not cell.bidirectional(needs["lm"])
