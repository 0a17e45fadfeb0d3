"""Both sides compute the same, their times are taken in turns, and results are printed as lines."""

import importlib.util
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from bench.peers import __main__ as peers
from bench.peers import encoders, model_pairs, steps
from bench.peers.comparison import Comparison, measured, read
from bench.peers.steps import random_batches, take_turns, training
from zoo.components.tokens import Tokens
from zoo.training.device import Runtime

RUNTIME = Runtime(torch.device("cpu"), "fp32")


def printed_comparisons(text: str) -> list[Comparison]:
    return [Comparison.model_validate_json(line) for line in text.splitlines()]


def counted_work(name: str, calls: list[tuple[str, int]], size: int = 1):
    def work(number: int) -> None:
        calls.append((name, number))
        sum(range(20_000 * size))

    return work


def test_each_block_gives_all_a_turn_after_one_step_of_warm_up():
    calls: list[tuple[str, int]] = []
    works = {name: counted_work(name, calls, size) for name, size in (("a", 1), ("b", 9))}
    for process, first, count in ((0, 0, 7), (1, 6, 6)):
        calls.clear()
        own = steps.Options(RUNTIME, blocks=13, process=process)
        turns = take_turns(works, own, [("a", "b")], least=0.0)
        assert calls[:2] == [("a", 0), ("b", 0)]
        numbers = range(first, first + count)
        assert sorted(calls[2:]) == sorted((name, n) for name in "ab" for n in numbers)
        assert len(turns.logs("b", "a")) == count
    assert 3 < np.exp(np.median(turns.logs("b", "a"))) < 27


def test_blocks_end_when_the_interval_is_narrow(monkeypatch):
    works = {name: counted_work(name, []) for name in "ab"}
    for wanted, process, blocks in ((True, 0, 6), (False, 1, 20)):
        monkeypatch.setattr(steps, "narrow_enough", lambda ratios, planned, wanted=wanted: wanted)
        own = steps.Options(RUNTIME, process=process)
        assert len(take_turns(works, own, [("a", "b")], least=0.0).logs("a", "b")) == blocks


def test_each_of_two_processes_measures_anew(monkeypatch, capsys):
    begun = []

    def compare(own):
        begun.append(own.process)
        logs = np.log(np.full(6, 1.2)) + 0.001 * own.process
        yield measured("training", "x", logs, RUNTIME)

    # A work that is put in the place of another one is not there in a process.
    monkeypatch.setattr(peers, "ProcessPoolExecutor", lambda *_: ThreadPoolExecutor(1))
    monkeypatch.setitem(peers.WORKS, "training", compare)
    assert peers.main(["training"]) == 0
    assert begun == [0, 1]
    told = printed_comparisons(capsys.readouterr().out)
    assert [one.blocks for one in told] == [6 * (process + 1) for process in (0, 1)]


def test_models_with_different_weights_are_unequal():
    peer = model_pairs.TORCH
    ours, theirs = model_pairs.model_pair(peer, steps.TINY)
    (batch,) = random_batches(steps.TINY, RUNTIME.device, 1)
    model_pairs.check_equal_on_batch(peer, ours, theirs, batch, RUNTIME)
    with torch.no_grad():
        theirs.head[1].bias[0] += 1e-3
    with pytest.raises(model_pairs.UnequalError, match=r"logits of nn\.TransformerEncoder "):
        model_pairs.check_equal_on_batch(peer, ours, theirs, batch, RUNTIME)
    with pytest.raises(model_pairs.UnequalError):
        model_pairs.check_equal("x", torch.tensor([float("nan")]), torch.tensor([0.0]))


def test_models_that_differ_on_padded_texts_alone_are_unequal(monkeypatch):
    from zoo_peers.encoders import TorchEncoder

    whole = TorchEncoder.forward
    unmasked = lambda self, ids, tokens: whole(self, ids, Tokens(None, tokens.positions))  # noqa: E731
    monkeypatch.setattr(TorchEncoder, "forward", unmasked)
    ours, theirs = model_pairs.model_pair(model_pairs.TORCH, steps.TINY)
    (batch,) = random_batches(steps.TINY, RUNTIME.device, 1)
    with pytest.raises(model_pairs.UnequalError, match="logits"):
        model_pairs.check_equal_on_batch(model_pairs.TORCH, ours, theirs, batch, RUNTIME)


def test_a_missing_library_is_a_skipped_comparison(monkeypatch, capsys, tmp_path):
    find_spec = importlib.util.find_spec

    def without_libraries(name: str, *rest: object):
        return None if name in ("transformers", "x_transformers") else find_spec(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", without_libraries)
    file = tmp_path / "lines.jsonl"
    assert peers.main(["training", "--quick", "--out", str(file)]) == 0
    lines = read(file)
    found = {comparison.against: comparison for comparison in lines}
    assert "pip install" in found["HF BERT (sdpa)"].skipped
    assert found["x-transformers (flash)"].ratio is None
    assert found["nn.TransformerEncoder"].ratio > 0
    assert printed_comparisons(capsys.readouterr().out) == lines


def test_equal_work_is_all_positions_without_dropout_on_the_same_batches(monkeypatch):
    made = []

    def recorded(model, batches, runtime):
        made.append((model, batches))
        return training(model, batches, runtime)

    monkeypatch.setattr(encoders, "training", recorded)
    monkeypatch.setattr(encoders, "PEERS", (model_pairs.TORCH,))
    monkeypatch.setattr(encoders, "X_ROTARY", model_pairs.TORCH)
    list(encoders.compare_training(steps.Options(RUNTIME, blocks=2, quick=True)))
    assert len({id(batches) for _, batches in made}) == 1
    for model, batches in made:
        assert model.pool.reads is None
        ids, tokens, _ = batches[0]
        model.train()
        torch.testing.assert_close(model(ids, tokens), model(ids, tokens), rtol=0, atol=0)


@pytest.mark.parametrize("wrong", ["logits", "gradients"])
def test_models_that_differ_on_a_timed_batch_are_left_out_and_others_timed(
    monkeypatch, capsys, wrong
):
    from zoo_peers.encoders import TorchEncoder

    whole = TorchEncoder.forward

    def changed(self, ids, tokens):
        if wrong == "logits":
            return whole(self, ids[:, :4], Tokens(None, tokens.positions[:4]))
        logits = whole(self, ids, tokens)
        return 2 * logits - logits.detach()

    monkeypatch.setattr(TorchEncoder, "forward", changed)
    monkeypatch.setattr(encoders, "PEERS", (model_pairs.TORCH,))
    assert peers.main(["training", "--quick"]) == 1
    printed = capsys.readouterr()
    assert f"training: not timed: {wrong} of nn.TransformerEncoder on a timed batch" in printed.err
    lines = [line for line in printed.out.splitlines() if "nn.TransformerEncoder" in line]
    assert lines
    assert not any('"ratio"' in line for line in lines)


def test_a_work_that_fails_is_reported_and_the_next_one_runs(monkeypatch, capsys):
    def broken(options):
        raise RuntimeError("out of memory")
        yield

    monkeypatch.setitem(peers.WORKS, "training", broken)
    monkeypatch.setattr(encoders, "PEERS", (model_pairs.TORCH,))
    monkeypatch.setattr(encoders, "X_ROTARY", model_pairs.TORCH)
    assert peers.main(["training", "inference", "--quick"]) == 1
    found = printed_comparisons(capsys.readouterr().out)
    assert [comparison.work for comparison in found][:2] == ["training", "inference"]
    assert found[0].skipped == "failed: RuntimeError: out of memory"
    assert any(comparison.ratio is not None for comparison in found[1:])


@pytest.mark.parametrize(
    "words",
    [
        ["trainig"],
        ["training", "--blocks", "11"],
        ["training", "--device", "abacus"],
        ["training", "--precision", "fp16"],
        ["training", "--out", "nowhere/lines.jsonl"],
    ],
)
def test_bad_usage_is_one_line(words, capsys):
    with pytest.raises(SystemExit) as stopped:
        peers.main(words)
    assert stopped.value.code == 2
    assert capsys.readouterr().err.strip().splitlines()[-1].startswith("python -m bench.peers:")


@pytest.mark.slow
@pytest.mark.parametrize("work", peers.WORKS)
def test_every_work_runs_alone(work, capsys):
    assert peers.main([work, "--quick"]) == 0
    found = printed_comparisons(capsys.readouterr().out)
    assert found
    for comparison in found:
        assert comparison.skipped or (comparison.ratio is not None and comparison.ratio >= 0)
