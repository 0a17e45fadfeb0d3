"""What is compared is one function, what is timed is what ran, and what is told is what was."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from bench.peers import __main__ as peers
from bench.peers import options, rivals, tutorial
from bench.peers.lines import Line, Out, made, read
from bench.peers.table import as_markdown
from bench.peers.timing import interval, race, ratio
from bench.readme import PEERS
from zoo.components.tokens import Tokens
from zoo.measure.matrix_rate import measure_matrix_rate
from zoo.train.device import Runtime

RUNTIME = Runtime(torch.device("cpu"), "fp32")


def test_a_race_gives_everybody_every_turn_after_a_warm_up():
    calls: list[tuple[str, int]] = []
    contenders = {
        name: (lambda piece, name=name: calls.append((name, piece))) for name in ("a", "b", "c")
    }
    times = race(contenders, rounds=3, pieces=2, warm=False)
    turns = [name for name, piece in calls if piece == 0]
    assert turns == ["a", "b", "c", "b", "c", "a", "c", "a", "b"]
    assert {name: found.shape for name, found in times.items()} == dict.fromkeys("abc", (3, 2))
    calls.clear()
    race(contenders, rounds=1, pieces=1)
    assert all(2 <= [c[0] for c in calls].count(name) <= 4 for name in "abc")


def test_a_ratio_holds_each_piece_against_the_same_piece():
    below = np.array([[1.0, 10.0, 2.0], [2.0, 20.0, 4.0], [1.0, 10.0, 2.0]])
    above = below * np.array([[2.0], [3.0], [4.0]])
    above[0, 1] *= 50  # a stumble over one piece
    found = ratio(above, below)
    assert found.ratio == pytest.approx(3)
    assert 2 <= found.low <= found.ratio <= found.high <= 4
    assert ratio(above[1:2], below[1:2], summed=True).ratio == pytest.approx(3)
    assert ratio(above, below, summed=True).high > 10


def test_the_interval_holds_the_median_of_like_rounds_nineteen_times_in_twenty():
    draw = np.random.default_rng(0)
    samples = draw.lognormal(mean=0.5, sigma=0.2, size=(200, 9))
    held = [(i.low <= np.exp(0.5) <= i.high) for i in map(interval, samples)]
    assert 0.88 <= np.mean(held) <= 1


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
def test_a_line_says_whether_the_median_reaches(bound, reach, reached):
    found = interval(np.array([1.4, 1.50001, 1.6]))
    line = made("w", "a", found, RUNTIME, rounds=3, bound=bound, reach=reach)
    assert line.reached is reached
    told = json.loads(line.model_dump_json())
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
    } <= set(told)
    assert told["low"] <= told["ratio"] <= told["high"]


def test_flops_are_those_that_torch_counts():
    from torch.utils.flop_counter import FlopCounterMode

    from bench.peers.rivals import PEERS, pair, random_batches

    shape = options.Shape(options.TINY.sizes.model_copy(update={"max_length": 32}), 2, 32)
    ours, _ = pair(PEERS[-1], shape, pool="mean")
    # The kernel that is counted as what it is: two products forward, and four backward.
    for block in ours.encoder.blocks:
        block.attention.attend = lambda q, k, v, mask, bias: (
            (q @ k.transpose(-2, -1)).softmax(-1) @ v
        )
    ids, tokens, _ = random_batches(shape, torch.device("cpu"), 1)[0]
    with FlopCounterMode(display=False) as counter:
        vectors = ours.encoder(ids, tokens)
        vectors.sum().backward()
    assert counter.get_total_flops() == pytest.approx(shape.training_flops(), rel=1e-6)


def test_models_that_differ_are_not_timed():
    peer = rivals.PEERS[-1]
    ours, theirs = rivals.pair(peer, options.TINY)
    vocabulary = options.TINY.sizes.vocab_size
    rivals._must_be_equal(peer, ours, theirs, vocabulary, 16)
    with torch.no_grad():
        theirs.head[1].bias[0] += 1e-3
    with pytest.raises(rivals.UnequalError, match=r"logits of nn\.TransformerEncoder differ"):
        rivals._must_be_equal(peer, ours, theirs, vocabulary, 16)


def test_a_value_that_is_no_number_is_a_difference():
    with pytest.raises(rivals.UnequalError):
        rivals.must_agree("x", torch.tensor([float("nan")]), torch.tensor([0.0]))


def test_the_tutorials_model_is_the_zoos_and_has_its_parameters():
    torch.manual_seed(0)
    plain = tutorial.Plain(tutorial.SIZES.vocab_size)
    ours = tutorial.ours_from(plain, tutorial.SIZES.vocab_size)
    for model in (plain, ours):
        assert sum(p.numel() for p in model.parameters()) == tutorial.PARAMETERS
    ids = torch.randint(1, 1000, (3, 9))
    attention_mask = torch.arange(9) < torch.tensor([[9], [4], [7]])
    tokens = rivals.Tokens(attention_mask, torch.arange(9))
    torch.testing.assert_close(ours(ids, tokens), plain(ids, attention_mask), rtol=1e-5, atol=1e-5)
    unmasked = ours(ids, rivals.Tokens(None, torch.arange(9)))
    assert (unmasked - plain(ids, attention_mask)).abs().max() > 1e-3


def test_a_missing_library_is_a_line_and_no_failure(monkeypatch, capsys, tmp_path: Path):
    found = importlib.util.find_spec

    def blind(name: str, *rest: object):
        return None if name in ("transformers", "x_transformers") else found(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", blind)
    file = tmp_path / "lines.jsonl"
    assert peers.main(["deep", "--quick", "--out", str(file)]) == 0
    lines = {line.against: line for line in read(file)}
    assert "pip install" in lines["HF BERT (sdpa)"].skipped
    assert lines["x-transformers (flash)"].ratio is None
    assert lines["nn.TransformerEncoder"].ratio > 0
    assert [Line.model_validate_json(text) for text in capsys.readouterr().out.splitlines()] == [
        *lines.values()
    ]


def test_missing_data_is_a_line_and_no_failure(capsys, tmp_path: Path):
    assert peers.main(["tutorial", "padding", "--data", str(tmp_path)]) == 0  # it is empty
    for text in capsys.readouterr().out.splitlines():
        line = Line.model_validate_json(text)
        assert "--data DIR" in line.skipped
        assert line.ratio is None


def test_a_side_that_differs_on_what_is_timed_alone_is_not_timed(monkeypatch, capsys):
    from zoo_peers.encoders import TorchEncoder

    honest = TorchEncoder.forward

    def lazy(self, ids, tokens):  # as where a kernel of its own takes long or full batches
        if len(ids) == 3:
            return honest(self, ids, tokens)
        return honest(self, ids[:, :4], Tokens(None, tokens.positions[:4]))

    monkeypatch.setattr(TorchEncoder, "forward", lazy)
    assert peers.main(["level", "--quick", "--rounds", "1"]) == 1
    printed = capsys.readouterr()
    assert (
        "level: not timed: logits of nn.TransformerEncoder on what is timed differ" in printed.err
    )
    assert not any('"ratio"' in line for line in printed.out.splitlines())


def test_a_work_that_fails_is_told_and_the_others_go_on(monkeypatch, capsys):
    def broken(options):
        raise RuntimeError("the machine is on fire")
        yield

    monkeypatch.setitem(peers.WORKS, "rate", broken)
    assert peers.main(["rate", "padding", "--quick", "--rounds", "1"]) == 1
    lines = [Line.model_validate_json(text) for text in capsys.readouterr().out.splitlines()]
    assert [line.work for line in lines] == ["rate", "ragged text"]
    assert lines[0].skipped == "failed: RuntimeError: the machine is on fire"
    assert lines[1].ratio is not None


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


def test_a_rate_is_that_of_large_products():
    assert measure_matrix_rate(RUNTIME, rounds=1) > 1e8


def test_the_readmes_table_is_that_of_the_published_lines(tmp_path: Path):
    root = Path(__file__).parents[2]
    shown = PEERS.search((root / "README.md").read_text())
    assert shown is not None
    inside = shown[0].removeprefix(shown[1]).removesuffix(shown[3])
    assert inside == as_markdown(root / shown[2])
    assert as_markdown(tmp_path / "none.jsonl") == ""


def test_a_table_says_what_was_reached_on_which_machine_with_what_noise(tmp_path: Path):
    found = interval(np.array([1.1, 1.2, 1.3]))
    how = {"rounds": 3, "reach": 1.15, "noise": 0.97}
    file = tmp_path / "lines.jsonl"
    out = Out(file)
    out.add(made("deep", "x", found, RUNTIME, **how))
    out.add(made("start", "y", found, RUNTIME, bound="at most", **how))
    out.add(Line(work="deep", against="z", skipped="needs z"))
    rows = as_markdown(file).splitlines()
    assert re.search(r"\| deep +\| x +\| 1.2 \(1.1 to 1.3\) +\| ≥ 1.15 +\| yes", rows[2])
    assert re.search(r"\| start +\| y +\| .* \| ≤ 1.15 +\| no", rows[3])
    assert "3.0% away" in rows[-2]
    assert rows[-1] == "- Not reached: start against y: ."
    assert not any("z" in row.split("|")[2] for row in rows[2:4])


def test_runs_in_a_row_are_one_row_that_says_how_often_it_reached(tmp_path: Path):
    file = tmp_path / "lines.jsonl"
    out = Out(file)
    for run in (1.1, 1.3, 1.2):
        for work, reach in (("deep", 1.15), ("level", 1.0)):
            found = interval(np.array([run - 0.05, run, run + 0.05]))
            out.add(made(work, "x", found, RUNTIME, rounds=3, reach=reach))
    rows = as_markdown(file).splitlines()
    assert re.search(r"\| deep +\| x +\| 1.2 \(1.05 to 1.35\) +\| ≥ 1.15 +\| in 2 of 3", rows[2])
    assert re.search(r"\| level +\| x +\| 1.2 \(1.05 to 1.35\) +\| ≥ 1 +\| yes", rows[3])
    assert rows[4] == ""
    assert any("3 runs in a row" in row for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("work", peers.WORKS)
def test_every_work_runs_alone(work, capsys):
    assert peers.main([work, "--quick", "--rounds", "1"]) == 0
    lines = [Line.model_validate_json(text) for text in capsys.readouterr().out.splitlines()]
    assert lines
    assert all(line.ratio is not None and line.ratio >= 0 for line in lines if not line.skipped)
