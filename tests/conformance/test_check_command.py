"""`zoo check` as a user types it."""

from __future__ import annotations

import json

import pytest
from specimens import mutations

from zoo.cli import main

POOLS = str(mutations()["pool"])


def test_a_sound_component_ends_with_its_counts_and_status_0(capsys):
    assert main(["check", "pool/mean"]) == 0
    printed, announced = capsys.readouterr()
    assert printed.startswith("pool/mean  encoder-zoo")
    assert announced == "  pool/mean: compiling, which takes seconds\n"
    assert "  passed  surroundings\n" in printed
    assert printed.endswith("1 component: 6 passed, 0 failed, 0 skipped\n")


def test_a_broken_one_is_printed_with_claim_owner_and_command_and_status_1(capsys):
    arguments = ["pool/divides-by-nothing", "--plugin", POOLS, "--only", "surroundings"]
    assert main(["check", *arguments]) == 1
    printed = capsys.readouterr().out
    assert "  failed  surroundings: an empty text in the batch (pool" in printed
    assert "must hold: Padding, other texts" in printed
    assert "owner:     pool.py " in printed
    assert "repeat:    zoo check pool/divides-by-nothing --only surroundings --plugin" in printed


def test_a_plugin_alone_means_all_that_it_registers(capsys):
    assert main(["check", "--plugin", POOLS, "--only", "declares"]) == 1
    printed = capsys.readouterr().out
    assert "pool/mean-over-padding" in printed
    assert "encoder-zoo" not in printed
    assert printed.splitlines()[-1].startswith("16 components: ")


def test_json_holds_every_result_the_counts_and_a_certificate(capsys):
    arguments = ["check", "pool/first-in-name-alone", "norm/rms", "--plugin", POOLS]
    assert main([*arguments, "--only", "declares", "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["counts"] == {"passed": 1, "failed": 1, "skipped": 0}
    broken, sound = printed["results"]
    assert sound["status"] == "passed"
    assert broken["component"] == "pool/first-in-name-alone"
    assert broken["status"] == "failed"
    assert broken["message"] == "declares 'first', yet reads = None"
    assert broken["owner"].startswith("pool.py ")
    refused, certificate = printed["certificates"]
    assert "parameters" not in refused  # what failed a check may fail to be measured too
    assert certificate["declared"] == ["scale-invariant", "unit-rms"]
    assert certificate["held"] == ["declares"]
    assert certificate["parameters"] == 16
    assert certificate["receptive_field"] == [0, 0]


def test_a_certificate_of_an_attention_has_its_cost_and_state():
    from zoo.conformance.certificate import certificate
    from zoo.registry.loading import built_ins

    found = certificate(built_ins().choose("attention", "naive"), [])
    # Width 16: four projections, and the products of queries, keys and values with 64 or 128 keys.
    assert found["flops_per_token"] == {n: 2 * (4 * 16 * 16 + 2 * n * 16) for n in (64, 128)}
    assert found["state_per_token"] == 2 * 16  # a key and a value
    assert found["receptive_field"] == [32, 31]


def test_what_follows_from_a_failure_is_one_line_and_counts(capsys):
    only = [word for name in ("surroundings", "values", "slopes") for word in ("--only", name)]
    scores = str(mutations()["attention"])
    assert main(["check", "attention/mask-ignored", "--plugin", scores, *only]) == 1
    printed = capsys.readouterr().out
    assert ": the mask is ignored\n" in printed
    assert printed.count("must hold:") == 1
    assert "  failed  2 others, probably for the same reason: values, slopes\n" in printed


def test_a_run_that_only_skips_does_not_pass(capsys):
    assert main(["check", "ffn/none", "--only", "values"]) == 1
    assert capsys.readouterr().out.endswith("1 component: 0 passed, 0 failed, 1 skipped\n")


def test_parameters_can_be_given(capsys):
    checks = ["--only", "declares", "--only", "slopes"]
    assert main(["check", "norm/rms(eps=1e-3)", "ffn/swiglu(matched=False)", *checks]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("norm/rms(eps=0.001)  ")
    assert "\nffn/swiglu(matched=False)  " in printed


def test_the_seed_is_part_of_the_command_that_repeats_a_failure(capsys):
    arguments = ["pool/mean-over-padding", "--plugin", POOLS, "--seed", "7", "--only", "values"]
    main(["check", *arguments, "--json"])
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert "--seed 7" in result["repeat"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "nothing to check; name components as kind/name, or say all"),
        (["fused"], "'fused' is no component; write it as kind/name"),
        (["pool/"], "'pool/' is no component; write it as kind/name"),
        (["attention/fusd"], "did you mean 'fused'?"),
        (["atention/fused"], "did you mean 'attention'?"),
        (["norm/rms(epsilon=1)"], "has no parameter 'epsilon'"),
        (["pool/mean", "--only", "vales"], "did you mean 'values'?"),
        (["--plugin", "no_such_file.py"], "cannot be read"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(arguments, says, capsys):
    assert main(["check", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert says in printed.err
    assert len(printed.err.splitlines()) == 1
