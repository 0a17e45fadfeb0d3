"""Both sides compute the same, their times are taken in turns, and results are printed as lines."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from bench.peers import __main__ as peers
from bench.peers import model_pairs, options, tutorial
from bench.peers.comparison import Comparison, Output, measured, read, skipped
from bench.peers.steps import random_batches
from bench.peers.table import as_markdown
from bench.peers.turns import interval, ratio, time_in_turns
from bench.readme import PEERS
from zoo.components.tokens import Tokens
from zoo.measure.matrix_rate import measure_matrix_rate
from zoo.training.device import Runtime

RUNTIME = Runtime(torch.device("cpu"), "fp32")


def printed_comparisons(text: str) -> list[Comparison]:
    return [Comparison.model_validate_json(line) for line in text.splitlines()]


def test_the_order_of_turns_rotates_and_each_turn_has_a_warm_up():
    calls: list[tuple[str, int]] = []
    steps = {
        name: (lambda index, name=name: calls.append((name, index))) for name in ("a", "b", "c")
    }
    times = time_in_turns(steps, rounds=3, count=2, warm_up=False)
    turns = [name for name, index in calls if index == 0]
    assert turns == ["a", "b", "c", "b", "c", "a", "c", "a", "b"]
    assert {name: found.shape for name, found in times.items()} == dict.fromkeys("abc", (3, 2))
    calls.clear()
    time_in_turns(steps, rounds=1, count=1)
    assert all(2 <= [c[0] for c in calls].count(name) <= 4 for name in "abc")


def test_a_ratio_compares_each_step_with_the_same_step_of_the_other_side():
    below = np.array([[1.0, 10.0, 2.0], [2.0, 20.0, 4.0], [1.0, 10.0, 2.0]])
    above = below * np.array([[2.0], [3.0], [4.0]])
    above[0, 1] *= 50  # one slow step
    found = ratio(above, below)
    assert found.ratio == pytest.approx(3)
    assert 2 <= found.low <= found.ratio <= found.high <= 4
    assert ratio(above[1:2], below[1:2], summed=True).ratio == pytest.approx(3)
    assert ratio(above, below, summed=True).high > 10


def test_the_interval_contains_the_true_median_in_most_of_200_samples():
    draw = np.random.default_rng(0)
    samples = draw.lognormal(mean=0.5, sigma=0.2, size=(200, 9))
    contains = [(i.low <= np.exp(0.5) <= i.high) for i in map(interval, samples)]
    assert 0.88 <= np.mean(contains) <= 1


@pytest.mark.parametrize(
    ("bound", "reach", "reached"),
    [
        ("at least", 1.5, True),
        ("at least", 1.51, False),
        ("at most", 1.5, True),
        ("at most", 1.49, False),
        ("at least", None, None),
    ],
)
def test_a_comparison_says_whether_its_median_meets_the_target(bound, reach, reached):
    found = interval(np.array([1.4, 1.50001, 1.6]))
    comparison = measured("w", "a", found, RUNTIME, rounds=3, bound=bound, reach=reach)
    assert comparison.reached is reached
    values = json.loads(comparison.model_dump_json())
    assert {
        "work",
        "against",
        "ratio",
        "low",
        "high",
        "reach",
        "reached",
        "noise",
        "torch",
        "machine",
        "threads",
        "rounds",
    } <= set(values)
    assert values["low"] <= values["ratio"] <= values["high"]


def test_flops_equal_those_that_torch_counts():
    from torch.utils.flop_counter import FlopCounterMode

    shape = options.Shape(options.TINY.sizes.model_copy(update={"max_length": 32}), 2, 32)
    ours, _ = model_pairs.model_pair(model_pairs.TORCH, shape, pool="mean")
    # A fused kernel is counted with its recomputation; plain products are not.
    for block in ours.encoder.blocks:
        block.attention.attend = lambda q, k, v, mask, bias: (
            (q @ k.transpose(-2, -1)).softmax(-1) @ v
        )
    ids, tokens, _ = random_batches(shape, torch.device("cpu"), 1)[0]
    with FlopCounterMode(display=False) as counter:
        vectors = ours.encoder(ids, tokens)
        vectors.sum().backward()
    assert counter.get_total_flops() == pytest.approx(shape.training_flops(), rel=1e-6)


def test_models_with_different_weights_are_unequal():
    peer = model_pairs.TORCH
    ours, theirs = model_pairs.model_pair(peer, options.TINY)
    vocab_size = options.TINY.sizes.vocab_size
    model_pairs.check_equal_models(peer, ours, theirs, vocab_size, 16)
    with torch.no_grad():
        theirs.head[1].bias[0] += 1e-3
    with pytest.raises(model_pairs.UnequalError, match=r"logits of nn\.TransformerEncoder differ"):
        model_pairs.check_equal_models(peer, ours, theirs, vocab_size, 16)


def test_nan_is_unequal():
    with pytest.raises(model_pairs.UnequalError):
        model_pairs.check_equal("x", torch.tensor([float("nan")]), torch.tensor([0.0]))


def test_the_tutorials_model_and_the_zoos_have_equal_parameters_and_logits():
    torch.manual_seed(0)
    theirs = tutorial.TutorialModel(tutorial.SIZES.vocab_size)
    ours = tutorial.equal_classifier(theirs, tutorial.SIZES.vocab_size)
    for model in (theirs, ours):
        assert sum(p.numel() for p in model.parameters()) == tutorial.PARAMETERS
    ids = torch.randint(1, 1000, (3, 9))
    mask = torch.arange(9) < torch.tensor([[9], [4], [7]])
    expected = theirs(ids, mask)
    torch.testing.assert_close(
        ours(ids, Tokens(mask, torch.arange(9))), expected, rtol=1e-5, atol=1e-5
    )
    unmasked = ours(ids, Tokens(None, torch.arange(9)))
    assert (unmasked - expected).abs().max() > 1e-3


def test_a_missing_library_is_a_skipped_comparison(monkeypatch, capsys, tmp_path: Path):
    find_spec = importlib.util.find_spec

    def without_libraries(name: str, *rest: object):
        return None if name in ("transformers", "x_transformers") else find_spec(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", without_libraries)
    file = tmp_path / "lines.jsonl"
    assert peers.main(["deep", "--quick", "--out", str(file)]) == 0
    found = {comparison.against: comparison for comparison in read(file)}
    assert "pip install" in found["HF BERT (sdpa)"].skipped
    assert found["x-transformers (flash)"].ratio is None
    assert found["nn.TransformerEncoder"].ratio > 0
    assert printed_comparisons(capsys.readouterr().out) == [*found.values()]


def test_missing_data_are_a_skipped_comparison(capsys, tmp_path: Path):
    assert peers.main(["tutorial", "padding", "--data", str(tmp_path)]) == 0  # it is empty
    found = printed_comparisons(capsys.readouterr().out)
    assert len(found) == 2
    for comparison in found:
        assert "--data DIR" in comparison.skipped
        assert comparison.ratio is None


def test_models_that_differ_only_on_a_timed_batch_are_not_timed(monkeypatch, capsys):
    from zoo_peers.encoders import TorchEncoder

    whole = TorchEncoder.forward

    def shortened(self, ids, tokens):  # right only for the 3 texts that the first check uses
        if len(ids) == 3:
            return whole(self, ids, tokens)
        return whole(self, ids[:, :4], Tokens(None, tokens.positions[:4]))

    monkeypatch.setattr(TorchEncoder, "forward", shortened)
    assert peers.main(["level", "--quick", "--rounds", "1"]) == 1
    printed = capsys.readouterr()
    assert (
        "level: not timed: logits of nn.TransformerEncoder on a timed batch differ" in printed.err
    )
    assert not any('"ratio"' in line for line in printed.out.splitlines())


def test_a_work_that_fails_is_reported_and_the_next_one_runs(monkeypatch, capsys):
    def broken(options):
        raise RuntimeError("out of memory")
        yield

    monkeypatch.setitem(peers.WORKS, "rate", broken)
    assert peers.main(["rate", "padding", "--quick", "--rounds", "1"]) == 1
    found = printed_comparisons(capsys.readouterr().out)
    assert [comparison.work for comparison in found] == ["rate", "ragged text"]
    assert found[0].skipped == "failed: RuntimeError: out of memory"
    assert found[1].ratio is not None


@pytest.mark.parametrize(
    "words",
    [
        ["depe"],
        ["deep", "--rounds", "0"],
        ["deep", "--device", "abacus"],
        ["deep", "--precision", "fp16"],
        ["tutorial", "--data", "nowhere"],
        ["deep", "--out", "nowhere/lines.jsonl"],
    ],
)
def test_bad_usage_is_one_line(words, capsys):
    with pytest.raises(SystemExit) as stopped:
        peers.main(words)
    assert stopped.value.code == 2
    assert capsys.readouterr().err.strip().splitlines()[-1].startswith("python -m bench.peers:")


def test_the_matrix_rate_is_above_100_mflops():
    assert measure_matrix_rate(RUNTIME, rounds=1) > 1e8


def test_the_readmes_table_is_made_from_the_published_lines(tmp_path: Path):
    root = Path(__file__).parents[2]
    shown = PEERS.search((root / "README.md").read_text())
    assert shown is not None
    inside = shown[0].removeprefix(shown[1]).removesuffix(shown[4])
    assert inside == as_markdown(root / shown[2], shown[3].split("; ")) != ""
    assert as_markdown(tmp_path / "none.jsonl") == ""


def test_the_table_shows_ratio_target_and_noise(tmp_path: Path):
    found = interval(np.array([1.1, 1.2, 1.3]))
    common = {"rounds": 3, "reach": 1.15, "noise": interval(np.array([0.97]))}
    file = tmp_path / "lines.jsonl"
    output = Output(file)
    output.add(measured("deep", "x", found, RUNTIME, **common))
    output.add(measured("start", "y", found, RUNTIME, bound="at most", **common))
    output.add(skipped("deep", "z", "needs z", RUNTIME))
    rows = as_markdown(file).splitlines()
    assert re.search(r"\| deep +\| x +\| 1.2 \(1.1 to 1.3\) +\| ≥ 1.15 +\| yes", rows[2])
    assert re.search(r"\| start +\| y +\| .* \| ≤ 1.15 +\| no", rows[3])
    assert "differed by up to 3.0%" in rows[-2]
    assert rows[-1] == "- Not reached: start against y: ."
    assert not any("z" in row.split("|")[2] for row in rows[2:4])


def test_several_runs_of_a_comparison_are_one_row(tmp_path: Path):
    file = tmp_path / "lines.jsonl"
    output = Output(file)
    for run in (1.1, 1.3, 1.2):
        for work, reach in (("deep", 1.15), ("level", 1.0)):
            found = interval(np.array([run - 0.05, run, run + 0.05]))
            output.add(measured(work, "x", found, RUNTIME, rounds=3, reach=reach))
    rows = as_markdown(file).splitlines()
    assert re.search(r"\| deep +\| x +\| 1.2 \(1.05 to 1.35\) +\| ≥ 1.15 +\| in 2 of 3", rows[2])
    assert re.search(r"\| level +\| x +\| 1.2 \(1.05 to 1.35\) +\| ≥ 1 +\| yes", rows[3])
    assert rows[4] == ""
    assert any("3 runs of each comparison" in row for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("work", peers.WORKS)
def test_every_work_runs_alone(work, capsys):
    assert peers.main([work, "--quick", "--rounds", "1"]) == 0
    found = printed_comparisons(capsys.readouterr().out)
    assert found
    for comparison in found:
        assert comparison.skipped or (comparison.ratio is not None and comparison.ratio >= 0)
