"""`zoo check` as a user types it."""

from __future__ import annotations

import json

import pytest
from specimens import mutations

from zoo.cli import main

POOLS = str(mutations()["pool"])


def test_a_sound_component_ends_with_its_counts_and_status_0(capsys):
    assert main(["check", "pool/mean", "--compile", "eager"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("pool/mean  encoder-zoo")
    assert "  passed  padding-invariance\n" in printed
    assert "  skipped first: it does not declare 'first'\n" in printed
    assert printed.splitlines()[-1].startswith("1 component: ")
    assert printed.endswith(" passed, 0 failed, 2 skipped\n")


def test_a_broken_one_is_printed_with_claim_owner_and_command_and_status_1(capsys):
    assert main(["check", "pool/divides-by-nothing", "--plugin", POOLS, "--compile", "eager"]) == 1
    printed = capsys.readouterr().out
    assert "  failed  empty-documents: output: 16 of 32 entries are not finite\n" in printed
    assert "must hold: A text of padding only gives finite outputs" in printed
    assert "owner:     pool.py " in printed
    assert "repeat:    zoo check pool/divides-by-nothing --only empty-documents --plugin" in printed


def test_a_plugin_alone_means_all_that_it_registers(capsys):
    assert main(["check", "--plugin", POOLS, "--only", "first"]) == 1
    printed = capsys.readouterr().out
    assert "pool/mean-over-padding" in printed
    assert "encoder-zoo" not in printed
    assert printed.splitlines()[-1] == "12 components: 0 passed, 1 failed, 11 skipped"


def test_json_holds_every_result_and_the_counts(capsys):
    arguments = ["check", "pool/first-in-name-alone", "pool/cls", "--plugin", POOLS]
    assert main([*arguments, "--only", "first", "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["counts"] == {"passed": 1, "failed": 1, "skipped": 0}
    broken, sound = printed["results"]
    assert sound["status"] == "passed"
    assert broken["component"] == "pool/first-in-name-alone"
    assert broken["check"] == "first"
    assert broken["status"] == "failed"
    assert broken["message"] == "reads = None instead of slice(0, 1)"
    assert broken["owner"].startswith("pool.py ")
    assert broken["claim"].startswith("With `first`, `reads` is the first position")
    assert broken["repeat"].startswith("zoo check pool/first-in-name-alone --only first")


def test_what_follows_from_a_failure_is_one_line_and_counts(capsys):
    names = ("dropout-scale", "causality", "padding-invariance", "both-padded")
    only = [word for name in names for word in ("--only", name)]
    scores = str(mutations()["attention"])
    assert main(["check", "attention/mask-ignored", "--plugin", scores, *only]) == 1
    printed = capsys.readouterr().out
    assert "likely cause: the mask is ignored\n" in printed
    assert printed.count("must hold:") == 1
    assert "  failed  2 others, probably for the same reason: causality, both-padded\n" in printed
    assert printed.endswith("1 component: 1 passed, 3 failed, 0 skipped\n")


def test_a_run_that_only_skips_does_not_pass(capsys):
    assert main(["check", "attention/torch", "--only", "rotation"]) == 1
    assert capsys.readouterr().out.endswith("1 component: 0 passed, 0 failed, 1 skipped\n")


def test_parameters_can_be_given(capsys):
    checks = ["--only", "parameters", "--only", "shape-and-dtype", "--only", "gradcheck"]
    assert main(["check", "norm/rms(eps=1e-3)", "ffn/swiglu(matched=False)", *checks]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("norm/rms(eps=0.001)  ")
    assert "\nffn/swiglu(matched=False)  " in printed
    assert printed.endswith("2 components: 6 passed, 0 failed, 0 skipped\n")


def test_the_seed_is_part_of_the_command_that_repeats(capsys):
    arguments = ["check", "pool/mean-over-padding", "--plugin", POOLS, "--seed", "7", "--json"]
    assert main([*arguments, "--only", "padding-invariance"]) == 1
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert "--seed 7" in result["repeat"]


def test_every_check_can_be_listed_with_its_claim(capsys):
    assert main(["check", "--list"]) == 0
    printed = capsys.readouterr().out
    assert "  padding-invariance    No other values in padding" in printed
    assert main(["check", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["pe"]["rotation-norm"] == "Rotating preserves the norm of every query and key."


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "nothing to check; name components as kind/name, or say all"),
        (["fused"], "'fused' is no component; write it as kind/name"),
        (["pool/"], "'pool/' is no component; write it as kind/name"),
        (["attention/fusd"], "did you mean 'fused'?"),
        (["atention/fused"], "did you mean 'attention'?"),
        (["norm/rms(epsilon=1)"], "has no parameter 'epsilon'"),
        (["pool/mean", "--only", "frist"], "did you mean 'first'?"),
        (["--plugin", "no_such_file.py"], "cannot be read"),
        (["pool/mean", "--compile", "magic"], "is not one of"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(arguments, says, capsys):
    assert main(["check", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert says in printed.err
    assert len(printed.err.splitlines()) == 1
