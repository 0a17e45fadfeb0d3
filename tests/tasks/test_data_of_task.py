"""Data say what they hold and tasks what they read; the one is refused where the other differs."""

import re

import pytest
from refused import refused

from zoo.config.sizes import Sizes
from zoo.data.sources.corpus import Corpus, Examples, Pairs, Texts
from zoo.registry import CAPABILITIES, Registry
from zoo.registry.loading import load
from zoo.sweep.make_request import make_request
from zoo.sweep.plan import make_plan
from zoo.tasks.base import deduplicated, find_task, refuse_data, task_for

PLUGIN = """
from zoo import hookimpl
from zoo.data import Pairs, Texts


def rhymes():
    return Pairs(
        "rhymes",
        {"train": (["a b", "c d"] * 3, ["b a", "d c"] * 3), "test": (["e f"], ["f e"])},
    )


def book():
    return Texts("book", {"train": (["once upon a time " * 20],), "validation": (["the end"],)})


@hookimpl
def zoo_register(register):
    register("data", "rhymes", rhymes, summary="pairs", capabilities=("pairs",))
    register("data", "book", book, summary="text", capabilities=("text",))
    register("data", "silent", book, summary="says nothing")
"""


@pytest.fixture
def registry(tmp_path) -> Registry:
    path = tmp_path / "more_data.py"
    path.write_text(PLUGIN)
    return load([path]).registry


@pytest.mark.parametrize(
    ("spec", "task"),
    [
        ("newswire", "classify"),
        ("order(train=6)", "classify"),
        ("encoder-zoo:even-pairs", "classify"),
        ("builtin:recall", "tag"),
        ("recall(pairs=4)", "tag"),
        ("rhymes", "seq2seq"),
        ("book", "lm"),
        ("silent", None),
        ("./recall", None),
        ("hub:owner/name", None),
        ("nothing", None),
        (None, None),
    ],
)
def test_the_task_of_data_is_the_one_that_reads_what_they_hold(registry, spec, task):
    assert task_for(registry, spec) == task


def test_every_built_in_data_set_declares_what_it_holds_and_has_a_task():
    registry = load().registry
    for component in registry.components("data"):
        holds = component.capabilities & set(CAPABILITIES["data"]) - {"streamed"}
        assert len(holds) == 1, component.name
        assert task_for(registry, component.full_name), component.name


@pytest.mark.parametrize(
    ("task", "data", "says"),
    [
        (
            "classify",
            "recall",
            "'recall' of .* holds token-labels, which --task tag reads; classify",
        ),
        (
            "tag",
            "newswire",
            "holds text-labels, which --task classify reads; tag reads token-labels",
        ),
        ("seq2seq", "even-pairs", "which --task classify reads; seq2seq reads pairs"),
        ("lm", "recall", "which --task tag reads; lm reads text and text-labels"),
        ("classify", "silent", "holds nothing that it declares, which no task here reads"),
    ],
)
def test_a_task_refuses_registered_data_that_it_does_not_read(registry, task, data, says):
    request = make_request({"task": task, "data": data}, registry)
    refused(says, make_plan, request, registry)


@pytest.mark.parametrize(
    ("task", "data"), [("lm", "newswire"), ("lm", "book"), ("classify", "order"), ("tag", None)]
)
def test_data_that_it_reads_are_planned(registry, task, data):
    assert make_plan(make_request({"task": task, "data": data}, registry), registry).runnable


def test_registered_pairs_and_texts_are_read(registry):
    from zoo.data.sources.load_data import load_data, load_texts
    from zoo.data.sources.row_reader import PairedTexts

    assert isinstance(load_data(registry, "rhymes", PairedTexts())[0], Pairs)
    assert isinstance(load_texts(registry, "book")[0], Texts)


def test_what_duplicates_take_from_training_is_said():
    train, test = Examples(["a", "b", "c"], [0, 1, 2]), Examples(["B", "d"], [1, 0])
    notices: list[str] = []
    deduplicated(Corpus("x", {"train": train, "test": test}, ["p", "q", "r"]), notices, keep=False)
    dropped = "1 scored text also in the training split: dropped from training"
    assert notices == [f"{dropped}, and with them the last training text of 'q'"]
    two = Corpus("x", {"train": (["a", "b"], [0, 1]), "test": test}, ["p", "q"])
    says = "x: train has the classes .'p'.; two are needed: 1 scored text .*; --keep-duplicates"
    refused(says, deduplicated, two, [], keep=False)


TABLE = "text,label\n" + "".join(f"some words {n},{'ab'[n % 2]}\n" for n in range(40))
LINES = {"classify": "x.csv", "lm": "x.csv", "tag": "x.conll", "seq2seq": "x.tsv"}
CONTENT = {
    "x.csv": f"{TABLE} ,a\n",
    "x.conll": "".join(f"a{n} O\nb P\n\n" for n in range(8)) + "c\n\n",
    "x.tsv": "".join(f"a {n}\tb\n" for n in range(8)) + "one side\n",
}


@pytest.mark.parametrize("name", LINES)
def test_what_reading_left_out_is_a_remark_under_the_table_of_every_task(registry, tmp_path, name):
    task, file = find_task(registry, name), tmp_path / LINES[name]
    file.write_text(CONTENT[file.name])
    options, sizes = task.options(drop_bad_rows=True), Sizes(vocab_size=300, max_length=16)
    (remark,) = task.load(str(file), options, sizes, registry).description["remarks"]
    assert re.fullmatch(rf"Reading the data: {file.name}, line \d+: .*; left out[.]", remark)


def test_only_data_that_can_be_somewhere_pass_before_anything_is_read(registry, tmp_path):
    """What is refused is tested with ``zoo bench``; pairs are not read from the Hub."""
    file = tmp_path / "one.csv"
    file.write_text("text,label\n")
    for spec in (None, "newswire", str(tmp_path), f" {file} ", "hub:owner/name"):
        refuse_data(registry, find_task(registry, "classify"), "classify", spec)
    pairs = find_task(registry, "seq2seq")
    refused("hub:owner/name", refuse_data, registry, pairs, "seq2seq", "hub:owner/name")
