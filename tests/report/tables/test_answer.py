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
        assert better.endswith("would allow a test; run with --seeds 3.")
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
    assert {score.best for score in DataSet("a", "a", run).scores.values()} == {None}


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
    """Attentions that are not exact, another encoding, and another rate that was chosen."""

    def said(records):
        return any("compute the same" in note for note in RunReport(records).notes)

    exact_ones = exact(trained(cell(), cell(attention="naive")))
    assert said(exact_ones)
    assert not said(trained(cell(), cell(attention="naive")))
    assert not said(exact(trained(cell(), cell(pe="sin"))))
    for number, one in enumerate(list(exact_ones)):
        lr = 0.01 if one.cell["attention"] == "naive" else 0.001
        tuning = {"values": {"lr": [0.001, 0.01]}, "seeds": 1, "share": 0.2}
        config = {**one.config, "training": {"epochs": 2, "lr": lr}, "tuning": tuning}
        exact_ones[number] = one.model_copy(update={"config": config})
        exact_ones.append(exact_ones[number].model_copy(update={"kind": "tune"}))
    assert not said(exact_ones)


def test_scores_that_rounding_sets_apart_are_told_with_the_largest_gap():
    cells = cell(), cell(attention="naive")
    records = [train_record(row, s, 50 + 2 * n) for n, row in enumerate(cells) for s in range(5)]
    notes = " ".join(RunReport(exact(records)).notes)
    assert "with one seed their scores differ by at most 0.2 points" in notes


def test_the_answer_has_at_most_four_lines():
    records = [*ties().records, *baseline(20)]
    records = [one for one in records if one.kind == "cost" or one.seed < 2]
    assert len(RunReport(with_config(records, "data", train=10)).answer) == 4


def test_few_texts_are_the_first_that_is_said():
    """Of 100 test texts all were also in training, where 10 were left."""
    records = [*trained(cell(), cell(pe="sin")), *baseline(20)]
    few = RunReport(with_config(records, "data", train=10, test=100)).answer
    assert few[0] == "Only 10 documents to train on: this may not hold for other documents."
    enough = RunReport(with_config(records, "data", train=50, test=50))
    assert enough.answer == few[1:]


def test_the_first_two_remarks_on_the_data_stand_under_the_answer():
    remarks = ["Much is cut.", "Classes are unbalanced.", "Commas are between columns."]
    run = RunReport(with_config(trained(cell()), "data", remarks=remarks))
    assert run.cautions == remarks[:2]
    assert set(remarks) < set(run.notes)
