"""Both sides compute the same, their times are taken in turns, and results are printed as lines."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats
from statsmodels.stats.multitest import multipletests
from torch.utils.flop_counter import sdpa_backward_flop_count, sdpa_flop_count

from bench.peers import __main__ as peers
from bench.peers import encoders, model_pairs, options, tutorial
from bench.peers.comparison import Comparison, Output, measured, read, skipped
from bench.peers.steps import matrix_products, random_batches, training
from bench.peers.table import as_markdown, summary
from bench.peers.turns import Ratio, interval, ratio, time_in_turns
from bench.readme import SPEED
from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.measure.timing import measure_matrix_rate
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
    above = below * np.array([[2.0], [4.0], [8.0]])
    above[0, 1] *= 50  # one slow step
    found = ratio(above, below)
    assert found.ratio == pytest.approx(4)
    assert found.low < found.ratio < found.high
    assert ratio(above[1:2], below[1:2], summed=True) == Ratio(pytest.approx(4))
    assert ratio(above, below, summed=True).ratio > 5


def test_an_interval_is_that_of_a_t_test_of_the_logarithms():
    values = np.array([1.1, 1.3, 0.9, 1.2, 1.05])
    expected = stats.ttest_1samp(np.log(values), 0.0).confidence_interval(0.95)
    found = interval(values)
    assert found.ratio == pytest.approx(stats.gmean(values))
    assert (found.low, found.high) == pytest.approx((np.exp(expected.low), np.exp(expected.high)))
    inverse = interval(1 / values)
    assert (inverse.low, inverse.high) == pytest.approx((1 / found.high, 1 / found.low))


@pytest.mark.parametrize("rounds", [2, 3, 5])
def test_an_interval_holds_the_true_ratio_in_19_of_20_samples(rounds):
    draw = np.random.default_rng(0)
    samples = draw.lognormal(mean=0.5, sigma=0.2, size=(2000, rounds))
    holds = [(i.low <= np.exp(0.5) <= i.high) for i in map(interval, samples)]
    assert 0.935 <= np.mean(holds) <= 0.965


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
    found = Ratio(1.500001, 1.4, 1.6)
    comparison = measured("own", "w", "a", found, RUNTIME, rounds=5, bound=bound, reach=reach)
    assert comparison.reached is reached
    values = json.loads(comparison.model_dump_json())
    assert {
        "kind",
        "ours",
        "theirs",
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
    ours, _ = model_pairs.model_pair(model_pairs.TORCH, shape)
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


def test_recomputed_flops_are_what_torch_counts_more_for_its_fused_kernel():
    shape = options.Shape(options.TINY.sizes.model_copy(update={"max_length": 32}), 2, 32)
    size = (shape.batch, shape.sizes.heads, shape.length, shape.sizes.dim // shape.sizes.heads)
    forward, backward = sdpa_flop_count(size, size, size), sdpa_backward_flop_count(*[size] * 4)
    recomputed = shape.sizes.layers * (backward - 2 * forward)
    assert shape.recomputed_flops() == recomputed > 0


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


def test_the_tutorials_loop_can_be_told_to_compute_the_first_position_alone():
    torch.manual_seed(0)
    whole = tutorial.TutorialModel(1000)
    first = tutorial.TutorialModel(1000, first_alone=True)
    first.load_state_dict(whole.state_dict())
    ids, mask = torch.randint(1, 1000, (3, 9)), torch.ones(3, 9, dtype=torch.bool)
    shapes = []
    first.attention.register_forward_hook(lambda _, given, out: shapes.append(out[0].shape))
    torch.testing.assert_close(first(ids, mask), whole(ids, mask))
    assert shapes == [(3, 1, 64)]


def test_a_missing_library_is_a_skipped_comparison(monkeypatch, capsys, tmp_path: Path):
    find_spec = importlib.util.find_spec

    def without_libraries(name: str, *rest: object):
        return None if name in ("transformers", "x_transformers") else find_spec(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", without_libraries)
    file = tmp_path / "lines.jsonl"
    assert peers.main(["positions", "--quick", "--out", str(file)]) == 0
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
    lines = list(encoders.compare_training(options.Options(RUNTIME, rounds=2, quick=True)))
    assert all(line.kind == "equal" and line.ours == line.theirs for line in lines)
    assert all(0 < line.matrix_share < line.recomputed_share for line in lines)
    assert len({id(batches) for _, batches in made}) == 1
    for model, batches in made:
        assert model.pool.reads is None
        ids, tokens, _ = batches[0]
        model.train()
        torch.testing.assert_close(model(ids, tokens), model(ids, tokens), rtol=0, atol=0)


def test_what_takes_more_memory_than_there_is_is_skipped(monkeypatch):
    free = type("Memory", (), {"available": 2**20})
    monkeypatch.setattr("psutil.virtual_memory", lambda: free)
    case = encoders.Case("equal", options.LARGE, "all", "all")
    (line,) = encoders.compare(case, options.Options(RUNTIME))
    assert re.fullmatch(r"needs about \d+\.\d GiB, and 0\.0 GiB are free", line.skipped)


def test_training_takes_about_the_memory_that_is_estimated():
    shape = options.Shape(Sizes(dim=128, layers=4, heads=4, ffn_dim=512, max_length=256), 8, 256)
    ours, _ = model_pairs.model_pair(model_pairs.TORCH, shape)
    batches = random_batches(shape, torch.device("cpu"), 1)
    saved = {}
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: saved.setdefault(t.untyped_storage().data_ptr(), t), lambda t: t
    ):
        ours.train()(*batches[0][:2])
    weights = {p.untyped_storage().data_ptr() for p in ours.parameters()}
    activations = sum(t.untyped_storage().nbytes() for p, t in saved.items() if p not in weights)
    expected = shape.training_bytes(models=0)
    assert 0.6 * expected < activations < 1.2 * expected
    stored = 16 * sum(p.numel() for p in ours.parameters())  # with gradients and AdamW's state
    assert shape.training_bytes(models=1) - expected == pytest.approx(stored, rel=0.1)


def test_the_rate_of_matrix_products_is_that_of_the_machine():
    step, flops = matrix_products(RUNTIME, quick=True)
    times = time_in_turns({"products": step}, rounds=5)["products"]
    rate = measure_matrix_rate(RUNTIME, rounds=5, size=256)
    assert 0.2 < flops / np.median(times) / rate < 5


def test_missing_data_are_a_skipped_comparison(capsys, tmp_path: Path):
    assert peers.main(["tutorial", "padding", "--data", str(tmp_path)]) == 0  # it is empty
    found = printed_comparisons(capsys.readouterr().out)
    assert len(found) == 2
    for comparison in found:
        assert "--data DIR" in comparison.skipped
        assert comparison.ratio is None


@pytest.mark.parametrize("wrong", ["logits", "gradients"])
def test_models_that_differ_only_on_a_timed_batch_are_not_timed(monkeypatch, capsys, wrong):
    from zoo_peers.encoders import TorchEncoder

    whole = TorchEncoder.forward

    def changed(self, ids, tokens):  # right only for the 3 texts that the first check uses
        if len(ids) == 3:
            return whole(self, ids, tokens)
        if wrong == "logits":
            return whole(self, ids[:, :4], Tokens(None, tokens.positions[:4]))
        logits = whole(self, ids, tokens)
        return 2 * logits - logits.detach()

    monkeypatch.setattr(TorchEncoder, "forward", changed)
    monkeypatch.setattr(encoders, "PEERS", (model_pairs.TORCH,))
    assert peers.main(["training", "--quick", "--rounds", "1"]) == 1
    printed = capsys.readouterr()
    assert f"training: not timed: {wrong} of nn.TransformerEncoder on a timed batch" in printed.err
    assert not any('"ratio"' in line for line in printed.out.splitlines())


def test_a_work_that_fails_is_reported_and_the_next_one_runs(monkeypatch, capsys):
    def broken(options):
        raise RuntimeError("out of memory")
        yield

    monkeypatch.setitem(peers.WORKS, "bf16", broken)
    assert peers.main(["bf16", "padding", "--quick", "--rounds", "1"]) == 1
    found = printed_comparisons(capsys.readouterr().out)
    assert [comparison.work for comparison in found] == ["bf16", "training on articles"]
    assert found[0].skipped == "failed: RuntimeError: out of memory"
    assert found[1].ratio is not None


@pytest.mark.parametrize(
    "words",
    [
        ["trainig"],
        ["training", "--rounds", "0", "--quick"],
        ["training", "--rounds", "4"],
        ["training", "--device", "abacus"],
        ["training", "--precision", "fp16"],
        ["tutorial", "--data", "nowhere"],
        ["training", "--out", "nowhere/lines.jsonl"],
    ],
)
def test_bad_usage_is_one_line(words, capsys):
    with pytest.raises(SystemExit) as stopped:
        peers.main(words)
    assert stopped.value.code == 2
    assert capsys.readouterr().err.strip().splitlines()[-1].startswith("python -m bench.peers:")


def test_the_matrix_rate_is_above_100_mflops():
    assert measure_matrix_rate(RUNTIME, rounds=1) > 1e8


def test_the_readmes_sentences_are_made_from_the_published_lines(tmp_path: Path):
    root = Path(__file__).parents[2]
    shown = SPEED.search((root / "README.md").read_text())
    assert shown is not None
    inside = shown[0].removeprefix(shown[1]).removesuffix(shown[3])
    assert inside == summary(root / shown[2]) != ""
    assert as_markdown(tmp_path / "none.jsonl", "equal") == summary(tmp_path / "none.jsonl") == ""


def line(kind: str, against: str, found: Ratio, rounds: int = 5, **more: object) -> Comparison:
    computed = {"ours": "every position", "theirs": "every position"} | more
    return measured(kind, "training", against, found, RUNTIME, rounds=rounds, **computed)


def written(file: Path, *comparisons: Comparison) -> Path:
    output = Output(file)
    for comparison in comparisons:
        output.add(comparison)
    return file


def cells(markdown: str) -> list[list[str]]:
    rows = [row for row in markdown.splitlines() if row.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[:1] + rows[2:]]


def test_a_row_says_by_itself_what_was_compared(tmp_path: Path):
    own = {"sizes": "4 layers × 256 wide, 16 × 512 tokens", "reach": 1.1}
    file = written(
        tmp_path / "lines.jsonl",
        line("equal", "x", Ratio(1.2, 1.1, 1.3), matrix_share=0.8, recomputed_share=0.87, **own),
        line("equal", "y", Ratio(1.098, 0.98, 1.23), noise=Ratio(0.97), **own),
        line("equal", "z", Ratio(0.9, 0.85, 0.95), **own),
        line("left out", "x", Ratio(37.12, 8.9, 41), ours="the first position alone"),
        line("own", "python", Ratio(1.5, 1.4, 1.6), ours="zoo list", bound="at most", reach=1.2),
        skipped("equal", "training", "w", "needs w", RUNTIME),
    )
    head, *rows = cells(as_markdown(file, "equal"))
    timed = "training, 4 layers × 256 wide, 16 × 512 tokens"
    assert rows == [
        [
            timed,
            "every position",
            "x",
            "1.200 (1.100 to 1.300)",
            "faster",
            "≥ 1.1: yes",
            "80% (87%)",
        ],
        [timed, "every position", "y", "1.098 (0.9800 to 1.230)", "tie", "≥ 1.1: no", ""],
        [timed, "every position", "z", "0.9000 (0.8500 to 0.9500)", "slower", "≥ 1.1: no", ""],
    ]
    assert head[1] == "both compute"
    assert "differed by up to 3.0%" in as_markdown(file, "equal")
    (row,) = cells(as_markdown(file, "left out"))[1:]
    ours, ratio = "the first position alone", "37.12 (8.900 to 41.00)"
    assert row == ["training", ours, "x", "every position", ratio]
    (row,) = cells(as_markdown(file, "own"))[1:]
    assert row[-1] == "≤ 1.2: no"
    sentence = summary(file)
    assert "0.90 to 1.20 times as long as the zoo in training" in sentence
    assert (
        "of 3 comparisons the zoo is faster in 1, slower in 1, not distinguished in 1." in sentence
    )
    assert f"torch {torch.__version__}. Commit: " in sentence
    assert sentence.endswith("On a GPU: not yet measured.\n")
    on_gpu = line("equal", "x", Ratio(1.2, 1.1, 1.3)).model_copy(update={"device": "cuda"})
    assert "not yet measured" not in summary(written(file, on_gpu))


def test_verdicts_are_holms_of_t_tests_over_rounds(tmp_path: Path):
    generator = np.random.default_rng(4)
    logs = generator.normal(0, 0.03, (9, 6)) + np.linspace(-0.12, 0.12, 9)[:, None]
    file = written(
        tmp_path / "lines.jsonl",
        *(line("equal", f"{n}", interval(np.exp(one)), rounds=6) for n, one in enumerate(logs)),
    )
    p_values = stats.ttest_1samp(logs, 0.0, axis=1).pvalue
    rejected = multipletests(p_values, method="holm")[0]
    expected = [
        ("faster" if one.mean() > 0 else "slower") if real else "tie"
        for one, real in zip(logs, rejected, strict=True)
    ]
    assert [row[4] for row in cells(as_markdown(file, "equal"))[1:]] == expected
    assert {"faster", "slower", "tie"} == set(expected)
    assert (p_values[~rejected] < 0.05).any(), "one that the correction changes"
    assert "after Holm's correction for 9 comparisons" in as_markdown(file, "equal")
    assert "after Holm's correction for 9 comparisons" in summary(file)


def test_what_is_left_out_stands_beside_the_same_comparison_of_equal_work(tmp_path: Path):
    more, less = {"sizes": "2 × 64"}, {"ours": "the first position alone"}
    file = written(
        tmp_path / "lines.jsonl",
        line("equal", "x", Ratio(1.1, 1.0, 1.2), **more),
        line("equal", "y", Ratio(1.2, 1.1, 1.3), **more),
        line("left out", "x", Ratio(1.5, 1.4, 1.6), **more, **less),
        line("left out", "x", Ratio(1.7, 1.6, 1.8), sizes="4 × 256", **less),
    )
    head, *rows = cells(as_markdown(file, "left out"))
    assert [row[head.index("at equal work")] for row in rows] == ["1.100", ""]


def test_equal_work_that_is_told_in_unequal_words_is_refused():
    with pytest.raises(ValueError, match="equal words"):
        line("equal", "x", Ratio(1.2), ours="the first position alone")


def test_lines_of_too_few_rounds_are_counted_and_not_shown(tmp_path: Path):
    lines = line("equal", "y", Ratio(1.2, 1.1, 1.3)), line("equal", "z", Ratio(1), rounds=3)
    file = written(tmp_path / "lines.jsonl", *lines)
    table = as_markdown(file, "equal")
    assert [row[2] for row in cells(table)] == ["against", "y"]
    assert "- Not shown of lines.jsonl: 1 line of fewer than 5 rounds." in table
    assert "1.20 to 1.20" in summary(file)


def test_a_table_of_several_machines_or_commits_says_so(tmp_path: Path):
    one, other = line("equal", "x", Ratio(1.2, 1.1, 1.3)), line("equal", "y", Ratio(1, 0.9, 1.1))
    mixed = "Rows of different machines or commits cannot be compared"
    alike = [one, other.model_copy(update={"commit": one.commit})]
    assert mixed not in as_markdown(written(tmp_path / "alike.jsonl", *alike), "equal")
    for change in ({"commit": "f" * 40}, {"machine": "another one"}):
        lines = [one, other.model_copy(update=change)]
        assert mixed in as_markdown(
            written(tmp_path / f"{next(iter(change))}.jsonl", *lines), "equal"
        )


def test_a_comparison_that_is_made_again_replaces_the_earlier_one(tmp_path: Path):
    runs = [line("equal", "x", Ratio(r, r - 0.05, r + 0.05), reach=1.15) for r in (1.1, 1.3)]
    table = as_markdown(written(tmp_path / "lines.jsonl", *runs), "equal")
    ((_, _, _, found, verdict, goal),) = cells(table)[1:]
    assert (found, verdict, goal) == ("1.300 (1.250 to 1.350)", "faster", "≥ 1.15: yes")


@pytest.mark.slow
@pytest.mark.parametrize("work", peers.WORKS)
def test_every_work_runs_alone(work, capsys):
    assert peers.main([work, "--quick", "--rounds", "1"]) == 0
    found = printed_comparisons(capsys.readouterr().out)
    assert found
    for comparison in found:
        assert comparison.skipped or (comparison.ratio is not None and comparison.ratio >= 0)
