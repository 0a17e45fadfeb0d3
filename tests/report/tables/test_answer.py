"""The answer under a table: the best of all, what to do next, and nothing that was not tested."""

import pytest
from factory import cell, train_record, with_config
from situations import exact, ties, timed

from zoo.report.profile import DataSet
from zoo.report.run_report import RunReport


def trained(*rows, seeds=5):
    return [train_record(row, seed, 50 + seed) for row in rows for seed in range(seeds)]


def baseline(wrong, seeds=5):
    return [train_record("words", seed, wrong) for seed in range(seeds)]


@pytest.mark.parametrize("seeds", [1, 2, 5])
def test_the_answer_names_the_best_of_all_baselines_too(seeds):
    records = [train_record(cell(pe=pe), s, 500 + 9 * s) for s in range(seeds)
               for pe in ("rope", "sin")]  # fmt: skip

    def answer(wrong):
        return " ".join(RunReport([*records, *baseline(wrong, seeds)]).answer)

    better, worse = answer(range(100)), answer(range(900))
    if seeds < 3:
        assert better.startswith("Undecided: rope has accuracy 0.")
        assert ", the baseline words 0.900. " in better
        assert better.endswith("a test needs 3; run with --seeds 3.")
    else:
        assert better.startswith("Use the baseline words: accuracy 0.900")
        assert worse.startswith("Use rope: accuracy 0.")


def test_without_a_baseline_and_with_few_seeds_nothing_is_recommended():
    records = [train_record(cell(pe=pe), 0, 50 + n) for n, pe in enumerate(("rope", "sin"))]
    first = RunReport(records).answer[0]
    assert first == "Undecided: rope has the best accuracy 0.950."
    assert RunReport(records[:1]).answer == ["fused+rope has accuracy 0.950."]


@pytest.mark.parametrize("seeds", [1, 2])
def test_without_a_ranked_cell_no_baseline_is_ranked(seeds):
    records = [train_record(cell(pe=pe), s, 50 + s) for s in range(seeds) for pe in ("rope", "sin")]
    for name, wrong in (("words", 20), ("majority", 400)):
        records.append(train_record(name, 0, wrong, deterministic=True))
    run = RunReport(records)
    assert [row.baseline for row in run.recorded_rows if row.deterministic] == ["words", "majority"]
    assert {line["rank"] for line in run.lines} == {None}
    assert {score["best"] for score in DataSet("a", "a", run).scores.values()} == {None}


def test_the_fastest_is_so_in_the_same_blocks_and_not_at_a_quieter_time():
    """sin was timed while the machine was twice as slow, and the reference with it."""
    speeds = ("rope", 1.0, 1.0), ("alibi", 1.2, 1.0), ("sin", 0.75, 0.5)
    records = trained(*(cell(pe=pe) for pe, _, _ in speeds))
    records += [timed(cell(pe=pe), speed, base, session=pe) for pe, speed, base in speeds]
    last = RunReport(records).answer[-1]
    assert last.startswith("Of the cells that tie, sin trains fastest: 1.25 times as fast as alibi")


def test_cells_that_are_not_told_apart_from_the_fastest_are_named():
    def line(*speeds):
        rows = [cell(pe=pe) for pe in ("rope", "sin", "none")]
        costs = [timed(row, speed) for row, speed in zip(rows, speeds, strict=True)]
        return RunReport([*trained(*rows), *costs]).answer[-1]

    one = line(1.0, 1.02, 0.5)
    assert "sin trains fastest: 2.04 times as fast as none (" in one
    assert one.endswith("; not told apart from it: rope.")
    assert "trains" not in line(1.0, 1.01, 0.99)


def test_equal_results_by_themselves_are_not_called_the_same_computation():
    """Attentions that are not exact, and another encoding."""

    def said(records):
        return any("compute the same" in note for note in RunReport(records).notes)

    assert said(exact(trained(cell(), cell(attention="naive"))))
    assert not said(trained(cell(), cell(attention="naive")))
    assert not said(exact(trained(cell(), cell(pe="sin"))))


def test_the_answer_has_at_most_four_lines():
    assert len(RunReport([*ties().records, *baseline(20)]).answer) <= 4


def test_the_first_two_remarks_on_the_data_stand_under_the_answer():
    remarks = ["Much is cut.", "Classes are unbalanced.", "Commas are between columns."]
    run = RunReport(with_config(trained(cell()), "data", remarks=remarks))
    assert run.cautions == remarks[:2]
    assert set(remarks) < set(run.notes)
