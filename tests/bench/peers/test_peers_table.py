"""Lines of comparisons with other libraries, as tables and as sentences."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from markdown_tables import cells
from scipy import stats

from bench.peers.comparison import Comparison, add, joined, measured, read, skipped
from bench.peers.table import as_markdown, summary
from zoo.errors import counted
from zoo.training.device import Runtime

RUNTIME = Runtime(torch.device("cpu"), "fp32")


EVEN = np.linspace(-1, 1, 13)  # as far above the centre as below it


def part(against: str, logs: np.ndarray, **more: object) -> Comparison:
    """What one process measured."""
    return measured("training", against, logs, RUNTIME, **{"ours": "every position"} | more)


def line(against: str, ratio: float, spread: float = 0.02, **more: object) -> Comparison:
    logs = math.log(ratio) + spread * EVEN
    return joined([part(against, own, **more) for own in (logs[:6], logs[6:])])


def written(file: Path, *comparisons: Comparison) -> Path:
    for comparison in comparisons:
        add(comparison, file)
    return file


def test_a_row_says_by_itself_what_was_compared(tmp_path):
    own = {"sizes": "4 layers × 256 wide, 16 × 512 tokens"}
    runs = [
        line("x", 1.2, **own),
        line("y", 1.098, spread=0.5, check=0.03 + 0.001 * EVEN, **own),
        line("z", 0.9, **own),
    ]
    file = written(
        tmp_path / "lines.jsonl",
        *runs,
        skipped("training", "w", "needs w", RUNTIME),
    )
    head, *rows = cells(as_markdown(file))
    timed = "training, 4 layers × 256 wide, 16 × 512 tokens"
    texts = [f"{one.ratio:#.4g} ({one.low:#.4g} to {one.high:#.4g})" for one in runs]
    told = "not told apart"
    assert rows == [
        [timed, "every position", "x", texts[0], "faster"],
        [timed, "every position", "y", texts[1], told],
        [timed, "every position", "z", texts[2], "slower"],
    ]
    assert head[1] == "both compute"
    assert "of 1 case; it differs by up to 3.0%" in as_markdown(file)
    assert "The interval of 1 row reaches further than 2% to a side" in as_markdown(file)
    sentence = summary(file)
    counts = "faster in 1, slower in 1, not told apart in 1."
    assert f"Of 3 comparisons of equal work the zoo is {counts}" in sentence
    threads = counted(torch.get_num_threads(), "thread")
    assert f"{threads}, torch {torch.__version__}. Commit: " in sentence
    assert sentence.endswith("On a GPU: not yet measured.\n")
    on_gpu = line("x", 1.2).model_copy(update={"device": "cuda"})
    assert "not yet measured" not in summary(written(file, on_gpu))


def test_processes_are_joined_and_their_blocks_give_ratio_and_interval(tmp_path):
    draw = np.random.default_rng(4)
    processes = draw.normal(0.12, 0.02, (3, 6))
    parts = [
        part("x", logs, check=logs - 0.12, contention=contention)
        for logs, contention in zip(processes, (0.8, 0.9, 1.0), strict=True)
    ]
    found = joined([parts[0], skipped("training", "x", "no memory", RUNTIME), *parts[1:]])
    logs = processes.round(5).ravel()
    means = np.add.outer(logs, logs)[np.triu_indices(18)] / 2
    assert found.ratio == pytest.approx(math.exp(np.median(means)), abs=1e-4)
    # Without what processes differ by, the interval is that of signed ranks; with it wider.
    tests = [stats.wilcoxon(logs - math.log(end)).pvalue for end in (found.low, found.high)]
    assert all(p < 0.05 for p in tests)
    assert (found.blocks, found.contention) == (18, 1.0)
    assert found.checked.low < 1 < found.checked.high
    assert read(written(tmp_path / "lines.jsonl", found)) == [found]


@pytest.mark.parametrize(
    ("ratio", "contention", "verdict"),
    [
        (1.05, 1.0, "faster"),
        (0.95, 1.0, "slower"),
        (1.02, 1.0, "not told apart"),
        (1.05, 1.6, "not told apart"),
        (1.15, 1.6, "faster"),
    ],
)
def test_a_verdict_needs_a_difference_that_is_worth_it(tmp_path, ratio, contention, verdict):
    one = line("x", ratio, 0.001, contention=contention)
    table = as_markdown(written(tmp_path / "lines.jsonl", one))
    row = cells(table)[1]
    assert row[4] == verdict
    assert row[3].endswith("*") == (contention > 1.5) == ("other work had the core" in table)


def test_lines_of_too_few_blocks_for_an_interval_are_not_shown(tmp_path):
    file = written(tmp_path / "lines.jsonl", line("y", 1.2), part("z", EVEN[:3]))
    assert [row[2] for row in cells(as_markdown(file))] == ["against", "y"]
    assert "Of 1 comparison " in summary(file)


def test_a_table_of_several_machines_or_commits_says_so(tmp_path):
    one, other = line("x", 1.2), line("y", 1)
    mixed = "Rows of different machines or commits cannot be compared"
    alike = [one, other.model_copy(update={"commit": one.commit})]
    assert mixed not in as_markdown(written(tmp_path / "alike.jsonl", *alike))
    for change in ({"commit": "f" * 40}, {"machine": "another one"}):
        lines = [one, other.model_copy(update=change)]
        assert mixed in as_markdown(written(tmp_path / f"{next(iter(change))}.jsonl", *lines))


def test_a_comparison_that_is_made_again_replaces_the_earlier_one(tmp_path):
    runs = [line("x", ratio) for ratio in (1.1, 1.3)]
    file = written(tmp_path / "lines.jsonl", *runs)
    ((_, _, _, found, verdict),) = cells(as_markdown(file))[1:]
    assert (found[:7], verdict) == ("1.300 (", "faster")
    assert read(file) == runs[1:]


def test_without_lines_there_is_no_table_and_no_sentence(tmp_path):
    assert as_markdown(tmp_path / "none.jsonl") == summary(tmp_path / "none.jsonl") == ""
