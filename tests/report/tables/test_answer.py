"""The answer under a table: the best of all, what to do next, and nothing that was not tested."""

import pytest
from example import REFERENCE
from factory import cell, cost_record, train_record, with_config

from zoo.report.profile import DataSet
from zoo.report.run_report import RunReport
from zoo.report.write import answer_text


def baseline(wrong, seeds=5):
    return [train_record("words", seed, wrong) for seed in range(seeds)]


@pytest.mark.parametrize("seeds", [1, 2])
def test_with_few_seeds_the_answer_names_the_best_of_all(seeds):
    records = [train_record(cell(pe=pe), s, 500 + 9 * s) for s in range(seeds)
               for pe in ("rope", "sin")]  # fmt: skip

    def answer(wrong):
        run = RunReport([*records, *baseline(wrong, seeds)])
        return " ".join(run.answer)

    more = {1: "Two more seeds", 2: "One more seed"}[seeds]
    better = answer(range(100))
    assert better.startswith("Use the baseline words: accuracy 0.900. Best transformer: 0.")
    assert f"{more} would allow a test; run with --seeds 3." in better
    close = answer([*range(12, 500), *range(900, 910)])
    assert close.startswith("Undecided: rope has accuracy 0.")
    assert ", the baseline words 0.502." in close
    assert answer(range(900)).startswith("Use rope: accuracy 0.")
    assert " Best baseline: 0.100 (words)." in answer(range(900))
    assert ", the baseline words 0.492." in answer(range(12, 520))
    assert ("pe: undecided." in better) == (seeds == 1), "with two seeds the rows are the same"


def test_without_a_baseline_and_with_few_seeds_nothing_is_recommended():
    records = [train_record(cell(pe=pe), 0, 50 + n) for n, pe in enumerate(("rope", "sin"))]
    first = RunReport(records).answer[0]
    assert first == "Undecided: rope has the best accuracy 0.950. pe: undecided."
    assert RunReport(records[:1]).answer == ["fused+rope has accuracy 0.950."]


def test_with_enough_seeds_too_the_answer_does_not_call_a_lower_score_the_best():
    cells = [train_record(cell(pe=pe), s, 500 + 9 * s) for s in range(5) for pe in ("rope", "sin")]

    def first(wrong):
        return RunReport([*cells, *baseline(wrong)]).answer[0]

    better = first(range(100))
    assert better.startswith("Use the baseline words: accuracy 0.900. Best transformer: 0.482 ± ")
    assert better.endswith(" (rope; 1 more ties with it).")
    assert first(range(900)).startswith("Use rope: accuracy 0.482 ± ")
    assert first(range(900)).endswith(
        ". Best baseline: 0.100 (words). Not told apart from rope: sin."
    )


@pytest.mark.parametrize("seeds", [1, 2])
def test_without_a_ranked_cell_no_baseline_is_ranked(seeds):
    records = [train_record(cell(pe=pe), s, 50 + s) for s in range(seeds) for pe in ("rope", "sin")]
    for name, wrong in (("words", 20), ("majority", 400)):
        records.append(train_record(name, 0, wrong, deterministic=True))
    run = RunReport(records)
    assert [row.baseline for row in run.recorded_rows if row.deterministic] == ["words", "majority"]
    assert run.table["rank"].isna().all()
    assert {score.best for score in DataSet("a", "a", run).scores.values()} == {None}
    assert run.next_step.endswith("would allow a test; run with --seeds 3.")


STEADY = [1.0, 1.001, 0.999, 1.0, 1.001, 1.0] * 2


def trained(*rows, seeds=5):
    return [train_record(row, seed, 50 + seed) for row in rows for seed in range(seeds)]


def timed(row, speed, base=1.0, **fields):
    """A cell that is this many thousand tokens/s fast, where the reference does ``base``."""
    own, other = ([scale * one for one in STEADY] for scale in (speed, base))
    return cost_record(row, own, REFERENCE, other, other, **fields)


def test_the_fastest_is_so_in_the_same_blocks_and_not_at_a_quieter_time():
    """sin was timed while the machine was twice as slow, and the reference with it."""
    speeds = ("rope", 1.0, 1.0), ("alibi", 1.2, 1.0), ("sin", 0.75, 0.5)
    records = trained(*(cell(pe=pe) for pe, _, _ in speeds))
    records += [timed(cell(pe=pe), speed, base, session=pe) for pe, speed, base in speeds]
    (line,) = [one for one in RunReport(records).answer if "trains fastest" in one]
    assert line.startswith(
        "Of the cells that tie, sin trains fastest: 1.25 times as fast as alibi (1.2"
    )


def test_cells_that_are_not_told_apart_from_the_fastest_are_named():
    def line(*speeds):
        rows = [cell(pe=pe) for pe in ("rope", "sin", "none")]
        costs = [timed(row, speed) for row, speed in zip(rows, speeds, strict=True)]
        return RunReport([*trained(*rows), *costs]).answer[-1]

    one = line(1.0, 1.02, 0.5)
    assert one.startswith("Of the cells that tie, sin trains fastest: 2.04 times as fast as none (")
    assert one.endswith("; not told apart from it: rope.")
    assert line(1.0, 1.01, 0.99).startswith(
        "Of the cells that tie, none trains measurably faster than the others"
    )


def exact(records):
    return [one.model_copy(update={"exact": True}) for one in records]


def of_attentions(speeds, wrong=None, seeds=5):
    """Cells of these attentions, each with rope and sin; sin is worse and 10% faster."""
    records = []
    for attention, speed in speeds.items():
        for pe, more, faster in (("rope", 0, 1.0), ("sin", 90, 1.1)):
            row = cell(attention=attention, pe=pe)
            records += [
                train_record(row, seed, 50 + 3 * seed + more + (wrong or {}).get(attention, 0))
                for seed in range(seeds)
            ]
            records.append(timed(row, speed * faster))
    return records


def line_of(records, words):
    found = [one for one in RunReport(records).answer if words in one]
    return found[0] if found else ""


@pytest.mark.parametrize("seeds", [1, 5])
def test_exact_attentions_compute_the_same_and_the_answer_says_which_is_faster(seeds):
    records = exact(of_attentions({"fused": 1.0, "naive": 0.8}, seeds=seeds))
    assert line_of(records, "compute") == (
        "fused and naive compute the same: equal scores with every seed, as they should be; "
        "fused trains 1.25 times as fast as naive (1.24 to 1.26)."
    )
    faster = exact(of_attentions({"fused": 1.0, "naive": 1.2}, seeds=seeds))
    assert "; naive trains 1.20 times as fast as fused (" in line_of(faster, "compute")
    alike = exact(of_attentions({"fused": 1.0, "naive": 1.01}, seeds=seeds))
    told = "; fused and naive are not told apart in training speed (0.98 to 1.00)."
    assert line_of(alike, "compute").endswith(told)
    three = exact(of_attentions({"fused": 1.0, "naive": 0.8, "packed": 1.01}, seeds=seeds))
    assert line_of(three, "compute").startswith("fused, naive and packed compute the same: equal")
    assert "; fused trains 1.25 times as fast as naive (" in line_of(three, "compute")
    assert "; fused and packed are not told apart in training speed (" in line_of(three, "compute")


def test_scores_that_rounding_sets_apart_are_told_with_the_largest_gap():
    records = exact(of_attentions({"fused": 1.0, "naive": 0.8}, {"naive": 2}))
    assert line_of(records, "compute").startswith(
        "fused and naive compute the same, and with one seed their scores differ by at most "
        "0.2 points; fused trains 1.25"
    )


def test_equal_results_by_themselves_are_not_called_the_same_computation():
    """Two attentions that are not exact, or an exact one with another encoding."""
    speeds = {"linear": 1.0, "window": 0.8}
    assert line_of(of_attentions(speeds), "compute") == ""
    told = line_of(of_attentions(speeds), "The same results with every seed: ")
    assert told.endswith("linear+rope and window+rope; and 1 more group.")
    exact_ones = exact(trained(cell(), cell(attention="naive")))
    beside = RunReport([*exact_ones, *trained(cell(attention="linear"))], "linear")
    assert "The same results with every seed: fused, naive and linear." in beside.answer
    other = exact(trained(cell(), cell(attention="naive", pe="sin")))
    assert line_of(other, "compute") == ""
    assert line_of(other, "The same results with every seed: fused+rope and naive+sin.")


def test_cells_with_other_settings_are_not_called_the_same_computation():
    """Of two values of the rate, one was chosen for each of them."""
    records = exact(trained(cell(), cell(attention="naive")))
    for number, one in enumerate(list(records)):
        lr = 0.01 if one.cell["attention"] == "naive" else 0.001
        tuning = {"values": {"lr": [0.001, 0.01]}, "seeds": 1, "share": 0.2}
        config = {**one.config, "training": {"epochs": 2, "lr": lr}, "tuning": tuning}
        records[number] = one.model_copy(update={"config": config})
        records.append(records[number].model_copy(update={"kind": "tune"}))
    assert line_of(records, "compute") == ""


def test_the_answer_has_at_most_four_lines_and_then_no_next_step():
    records = exact(of_attentions({"fused": 1.0, "naive": 0.8})) + of_attentions({"linear": 1.0})
    run = RunReport([*records, *baseline(20)])
    first, choices, same, fastest = run.answer
    assert first.startswith("Use the baseline words: accuracy 0.980. Best transformer: 0.944 ± ")
    assert first.endswith(" (fused+rope; 2 more tie with it).")
    assert " is better than sin by " in choices
    assert "compute the same" in same
    assert fastest.startswith("Of the cells that tie, ")
    assert run.next_step.startswith("Try a task")
    assert RunReport([*trained(cell()), *baseline(20)]).answer[-1] == run.next_step


def test_a_run_without_a_difference_says_what_would_have_shown():
    run = RunReport(trained(cell(), cell(pe="sin"), seeds=4) + [
        train_record(cell(pe="none"), seed, 50 + (seed * 7) % 4) for seed in range(4)])  # fmt: skip
    shown = run.metric.format_difference(run.verdicts.visible("effect")).lstrip("+")
    assert run.answer[0].endswith("pe: undecided.")
    assert run.answer[1] == f"An effect of {shown} would have shown in 4 of 5 such runs."


def test_few_texts_are_the_first_that_is_said():
    """Of 100 test texts all were also in training, where 10 were left."""
    records = [*trained(cell(), cell(pe="sin")), *baseline(20)]
    for counts, said in (
        ({"train": 10, "test": 100}, "10 documents to train on"),
        ({"train": 12, "test": 49}, "12 documents to train on and 49 documents to score"),
    ):
        first, second, *_ = RunReport(with_config(records, "data", **counts)).answer
        assert first == f"Only {said}: this may not hold for other documents."
        assert second.startswith("Use the baseline words: ")
    enough = RunReport(with_config(records, "data", train=50, test=50))
    assert enough.answer[0].startswith("Use the base")


CUT = "600 of 1,000 test texts are longer than 64 tokens. What follows, 88% of all tokens, is cut."
SKEWED = "Unbalanced classes: 70% of the training texts are 'a', where an even share would be 33%."
READ = "Reading the data: commas between columns."


@pytest.mark.parametrize(
    ("counts", "cut", "said"),
    [([700, 150, 150], 600, [CUT, SKEWED]), ([230, 160, 150], 99, []), ([0, 1], 100, [CUT])],
)
def test_what_of_the_data_a_conclusion_depends_on(counts, cut, said):
    """Much that is cut off, and classes of which one is twice as frequent as the others."""
    data = {
        "class_counts": counts,
        "cut": {"test": {"texts": cut}},
        "notes": {"reading": READ[18:-1]},
    }
    data["remarks"] = [CUT, SKEWED, READ]
    run = RunReport(with_config(trained(cell()), "data", **data))
    assert run.cautions == said
    assert {CUT, READ} <= set(run.notes), "the notes have all"
    assert (SKEWED in run.notes) == (SKEWED in said), "but what is no finding"
    assert answer_text(run).splitlines() == [*run.answer, *said]
