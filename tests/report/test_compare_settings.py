"""``zoo compare --may-differ``: the effect of a setting, and of that one alone."""

import json

from compared import SIN, change, measured, only_row
from factory import MACHINE, compare, name, seeds, with_config, write_records
from refused import refused

from zoo.report.compare_text import comparison_data, comparison_text

BEFORE, AFTER = [40, 52, 45, 48, 41], [60, 75, 61, 70, 55]


def random_batches(records):
    return with_config(records, "training", batching="random")


def test_a_setting_that_may_differ_has_a_verdict_and_is_told():
    after = random_batches(seeds(SIN, AFTER))
    comparison = compare(seeds(SIN, BEFORE), after, may_differ=["batching"])
    assert only_row(comparison, pe="sin").verdict == "worse"
    assert comparison.settings == {"batching": ("length", "random")}
    text = comparison_text(comparison, "a", "b")
    assert "Settings that differ on purpose: batching length → random." in text
    assert comparison_data(comparison, "a", "b")["settings"] == {"batching": ("length", "random")}


def test_any_other_setting_that_differs_is_refused_still():
    after = with_config(seeds(SIN, AFTER), "training", batching="random", epochs=20)
    row = only_row(compare(seeds(SIN, BEFORE), after, may_differ=["batching"]), pe="sin")
    assert (row.verdict, row.why) == ("not comparable", "other settings: epochs 2 against 20")
    both = compare(seeds(SIN, BEFORE), after, may_differ=["epochs", "batching"])
    assert only_row(both, pe="sin").verdict == "worse"


def test_a_setting_that_does_not_differ_is_one_line():
    after = random_batches(seeds(SIN, AFTER))
    for now, named in ((after, "batching"), (seeds(SIN, AFTER), "none")):
        says = rf"--may-differ epochs: .* They differ in: {named}$"
        refused(says, compare, seeds(SIN, BEFORE), now, may_differ=["epochs"])


def test_other_data_are_refused_whatever_may_differ():
    after = with_config(seeds(SIN, AFTER), "data", fingerprint="0123456789abcdef")
    after = with_config(after, "training", epochs=9)
    row = only_row(compare(seeds(SIN, BEFORE), after, may_differ=["epochs"]), pe="sin")
    assert row.why.startswith("other data: newswire (baf54e518248) against")


def test_speeds_are_not_compared_because_the_reference_has_the_setting_too(generator):
    """The setting makes both cells half as fast: their ratio to each other has not changed."""
    before, after = measured(generator), random_batches(measured(generator, drift=0.5))
    comparison = compare(before, after, may_differ=["batching"])
    for metric in ("train speed", "inference speed"):
        found = change(comparison, metric, pe="sin")
        assert (found.value, found.verdict) == (None, None)
        assert found.why == "the reference cell differs in these settings too"
    assert change(comparison, "memory", pe="sin").verdict == "tie"
    assert only_row(comparison, pe="sin").why == ""
    assert "Speeds are not compared: the reference cell differs" in comparison.costs
    elsewhere = random_batches(measured(generator, machine={**MACHINE, "threads": 4}))
    found = change(compare(before, elsewhere, may_differ=["batching"]), "memory", pe="sin")
    assert found.why == "another machine"


def test_the_command_takes_names_with_commas(tmp_path, said, refused_command):
    write_records(tmp_path / "a", seeds(SIN, BEFORE))
    after = with_config(seeds(SIN, AFTER), "training", batching="random", epochs=20)
    write_records(tmp_path / "b", after)
    sides = [tmp_path / "a", tmp_path / "b"]
    shown = said("compare", *sides, "--may-differ", "batching, epochs", "--json").out
    found = json.loads(shown)
    assert {row["name"]: row["verdict"] for row in found["rows"]} == {name(pe="sin"): "worse"}
    for arguments, message in (
        (["--may-differ", "batchin"], "They differ in: epochs, batching"),
        (["--may-differ", "epochs", "--reference", "fused"], "use one of the two"),
    ):
        assert message in refused_command("compare", *sides, *arguments)
