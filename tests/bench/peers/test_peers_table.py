"""Lines of comparisons with other libraries, as tables and as sentences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats
from statsmodels.stats.multitest import multipletests

from bench.peers.comparison import Comparison, Output, measured, skipped
from bench.peers.table import as_markdown, summary
from bench.peers.turns import Ratio, interval
from bench.readme import SPEED
from zoo.training.device import Runtime

RUNTIME = Runtime(torch.device("cpu"), "fp32")


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


def test_the_readmes_sentences_are_made_from_the_published_lines(tmp_path: Path):
    root = Path(__file__).parents[3]
    shown = SPEED.search((root / "README.md").read_text())
    assert shown is not None
    inside = shown[0].removeprefix(shown[1]).removesuffix(shown[3])
    assert inside == summary(root / shown[2]) != ""
    assert as_markdown(tmp_path / "none.jsonl", "equal") == summary(tmp_path / "none.jsonl") == ""


@pytest.mark.parametrize(
    ("bound", "reach", "reached"),
    [("at least", 1.5, True), ("at least", 1.51, False), ("at most", 1.5, True),
     ("at most", 1.49, False), ("at least", None, None)],
)  # fmt: skip
def test_a_comparison_says_whether_its_median_meets_the_target(bound, reach, reached):
    found = Ratio(1.500001, 1.4, 1.6)
    comparison = measured("own", "w", "a", found, RUNTIME, rounds=5, bound=bound, reach=reach)
    assert comparison.reached is reached
