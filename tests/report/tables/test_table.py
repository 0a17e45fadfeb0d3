"""The table: its columns, its order, and ties."""

from __future__ import annotations

import io
import itertools
from typing import Any

import pandas as pd
import pytest
from example import REFERENCE, SPEED, TWIN, run
from factory import (
    caption,
    cell,
    cost_record,
    failed,
    make_table,
    name,
    printed,
    readable,
    record,
    skipped,
    train_record,
)

from zoo.report.run_report import RunReport
from zoo.report.tables.columns import table_text
from zoo.report.write import write_tables


@pytest.fixture
def table(report):
    return report.table.set_index("pe")


@pytest.fixture
def shown(report):
    """The same as a person reads it."""
    return report.shown.set_index("pe")


def by_pe(records):
    return make_table(records).set_index("pe")


def test_the_first_columns_are_as_promised_and_whole_rows_follow(report):
    header = (
        "attention,pe,norm,ffn,block,pool,status,reason,seeds,params,accuracy_mean,accuracy_std,"
        "macro_f1_mean,train_tokens_per_s,infer_tokens_per_s,latency_ms,peak_memory_mib,train_seconds"
    )
    columns = report.table.columns
    assert ",".join(columns).startswith(f"{header},")
    assert not columns.duplicated().any()
    empty = {column.replace("score", "accuracy") for column in make_table([]).columns}
    assert empty < set(columns)


def test_what_is_held_at_the_measured_speed_is_beside_what_is_needed():
    records = run()
    assert "held_memory_mib" not in make_table(records)
    (of_rope,) = (r for r in records if r.kind == "cost" and r.cell.get("pe") == "rope")
    of_rope.metrics["held_memory_mib"] = 175.0
    shown = readable(records).set_index("pe")
    assert (shown["memory MiB"]["rope"], shown["held MiB"]["rope"]) == ("100", "175")
    assert shown["held MiB"]["sin"] == ""
    (note,) = [n for n in RunReport(records).notes if n.startswith("Memory")]
    assert note.startswith("Memory: what training steps need. Held: ")


def test_the_best_is_first_a_baseline_too_and_ties_share_a_rank(table, shown):
    assert list(table.index) == ["", "rope", "sin", "none"]
    assert table["baseline"].iloc[0] == table["attention"].iloc[0] == "words"
    assert list(table["rank"]) == [1, 2, 2, 4], "the baseline is a row"
    assert list(table["tie"][1:]) == [True, True, False]
    assert list(shown["rank"]) == ["1", "2=", "2=", "4"]
    worse = [*run(baseline=False), train_record("words", 0, 100)]
    assert list(by_pe(worse).index) == ["rope", "sin", "", "none"]
    alone = by_pe([r for r in run() if r.cell.get("pe") != "sin"])
    assert list(alone["tie"][["rope", "none"]]) == [False, False], "a single best is not a tie"


@pytest.mark.parametrize(("seeds", "rank"), [(3, "2="), (2, "")])
def test_a_row_with_fewer_seeds_than_others(seeds, rank):
    records = [r for r in run() if r.cell.get("pe") != "sin" or (r.seed or 0) < seeds]
    shown = readable(records).set_index("pe")
    assert (shown["rank"]["sin"], shown["seeds"]["sin"]) == (rank, str(seeds))
    assert ("±" in shown["accuracy"]["sin"]) == (seeds == 3)
    assert caption(records).startswith(f"Seeds: {seeds} to 5 per row")


def test_accuracy_has_its_interval_over_seeds_and_separately_the_test_sets_error(table, shown):
    row = table.loc["rope"]
    assert row["accuracy_low"] < row["accuracy_mean"] < row["accuracy_high"]
    half = (row["accuracy_high"] - row["accuracy_low"]) / 2
    assert shown["accuracy"]["rope"] == f"{row['accuracy_mean']:.3f} ± {half:.3f}"
    assert row["accuracy_sampling_error"] == pytest.approx(0.0155, abs=0.0002)
    assert row["test_examples"] == 1000


def test_a_ratio_is_a_number_with_a_mark_where_it_is_not_told_apart_from_1(table, shown):
    assert list(shown["× train"]) == ["", "reference", "~1.00", "2.00"]
    assert list(table["train_tie"][["sin", "none"]]) == [True, False]
    assert table["train_ratio"]["rope"] == 1
    assert table["train_ratio_low"]["none"] < 2 < table["train_ratio_high"]["none"]
    few = [cost_record(cell(pe=pe), [s] * 3, REFERENCE, [1.0] * 3, [1.0] * 3)
           for pe, s in (("rope", 1.0), ("sin", 2.0))]  # fmt: skip
    assert list(readable(few)["× train"]) == ["~2.00", "reference"], "too few for an interval"


def test_tokens_a_second_are_the_ratio_times_one_rate_of_the_run():
    """So that columns agree, though rope was timed in two groups and once at half the speed."""
    records = [
        cost_record(cell(pe="rope"), [1.0] * 12, REFERENCE),
        cost_record(cell(pe="sin"), [2.0] * 12, REFERENCE),
        cost_record(cell(pe="none"), [1.5] * 12, REFERENCE, [0.5] * 12, [0.5] * 12, session="two"),
    ]
    for one, phase in itertools.product(records, ("train", "infer")):
        real = one.metrics[f"{phase}_tokens_per_s"]
        one.metrics[f"{phase}_padded_tokens_per_s"] = 1.25 * real
    table = by_pe(records)
    for phase in ("train", "infer"):
        rates = table[f"{phase}_tokens_per_s"]
        assert rates["sin"] / rates["rope"] == pytest.approx(2)
        assert rates["none"] / rates["rope"] == pytest.approx(table[f"{phase}_ratio"]["none"]) == 3
        padded = table[f"{phase}_padded_tokens_per_s"]
        assert list(padded / rates) == pytest.approx([1.25] * 3), "a quarter is padding"


def test_speeds_with_several_threads_are_columns_of_their_own():
    """With four threads sin is 1.5 times as fast as rope, and with one it is as fast."""
    records = [cost_record(cell(pe=pe), [1.0] * 12, REFERENCE) for pe in ("rope", "sin")]
    for one, seconds in zip(records, (0.3, 0.2), strict=True):
        one.samples["threads"] = 4
        for turns, each in ((one.samples["turns"], seconds),
                            (one.samples["reference"]["turns"], 0.3)):  # fmt: skip
            turns["train_threads"] = {"wall": [[each] * 6] * 2, "cpu": [[each] * 6] * 2}
    shown = readable(records).set_index("pe")
    assert list(shown["× train, 4 threads"]) == ["reference", "1.50"]
    assert list(shown["× train"]) == ["reference", "~1.00"]
    assert "× infer, 4 threads" not in shown
    table = by_pe(records)
    assert table["train_threads_ratio_low"]["sin"] < 1.5 < table["train_threads_ratio_high"]["sin"]
    rates = table["train_threads_tokens_per_s"]
    assert rates["sin"] == pytest.approx(1.5 * rates["rope"])


def test_rows_that_were_timed_beside_other_work_are_marked():
    """And within 10% nothing is decided of them."""
    busy = cost_record(cell(pe="sin"), [1.08] * 12, REFERENCE, wall=1.6)
    quiet = cost_record(cell(pe="none"), [1.08] * 12, REFERENCE, wall=1.4)
    records = [cost_record(cell(pe="rope"), [1.0] * 12, REFERENCE), busy, quiet]
    shown = readable(records).set_index("pe")
    assert list(shown["contended"][["rope", "sin", "none"]]) == ["", "yes", ""]
    assert list(shown["× train"][["sin", "none"]]) == ["~1.08", "1.08"]
    assert "contended" not in readable([r for r in records if r is not busy])


def test_the_front_respects_ties(table):
    assert list(table["pareto_speed"][["rope", "sin", "none"]]) == ["front"] * 3
    slow = [cost_record(cell(pe="sin"), [0.5] * 12, REFERENCE, SPEED["rope"], TWIN)]
    slow += [cost_record(cell(pe="none"), [0.5] * 12, REFERENCE, SPEED["rope"], TWIN, memory=50)]
    report = RunReport(run() + slow)
    table = report.table.set_index("pe")
    assert list(table["pareto_speed"][["rope", "sin", "none"]]) == ["front", "tied", "dominated"]
    assert list(table["pareto_memory"][["rope", "sin", "none"]]) == ["front"] * 3
    assert list(report.shown["front"]) == ["", "speed memory", "(speed) memory", "memory"]


@pytest.mark.parametrize("seeds", [1, 2])
def test_with_too_few_seeds_nothing_is_ranked(seeds):
    report = RunReport(run(seeds=seeds))
    table = report.table
    assert table["rank"].isna().all()
    assert table["tie"].isna().all()
    assert table["accuracy_low"].isna().all()
    assert (table["pareto_speed"] == "").all()
    notes = "\n".join(report.notes)
    assert "too few seeds for an interval" in f"{table_text(report)}\n{notes}"
    assert "±" not in table_text(report)
    assert "1=" not in f"{table_text(report)}\n{notes}"


def test_failed_and_skipped_rows_have_their_reasons_and_come_later():
    oom = record("cost", "oom", cell=cell(pe="learned"), reason="out of memory")
    records = [
        skipped(cell(pe="alibi"), "no bias"),
        failed(cell(pe="xpos"), 0, "diverged"),
        oom,
        *run(),
    ]
    table = make_table(records)
    assert list(table["status"]) == ["ok"] * 4 + ["skipped", "diverged", "oom"]
    again = record("cost", "timeout", cell=cell(pe="sin"), reason="too long")
    sin = by_pe([*run(), again]).loc["sin"]
    assert (sin["status"], sin["rank"]) == ("timeout", 2), "it is ranked by its accuracy"
    assert pd.isna(sin["train_ratio"])
    reasons = table.set_index("pe")["reason"]
    assert reasons["alibi"] == "no bias"
    assert reasons["xpos"] == "seed 0: it did not end well"
    assert reasons["learned"] == "cost: out of memory"
    assert "diverged: seed 0" in printed(records)


TRAINED, MEASURED = ([r for r in run() if r.kind == kind] for kind in ("train", "cost"))


@pytest.mark.parametrize(
    ("records", "table", "notes", "never"),
    [
        (TRAINED, "rope", "Rank", "Reference:"),
        (MEASURED, "rope", "Reference:", "Rank"),
        ([r for r in TRAINED if r.baseline], "words", "Seeds: 5", "Rank"),
        ([skipped(cell(pe="rope"))], "cannot be combined", "Data:", "Seeds"),
        ([], "accuracy", "No records.", "Data:"),
    ],
    ids=["trainings", "costs", "baselines", "skipped", "nothing"],
)
def test_any_part_of_a_run_makes_a_table(records, table, notes, never):
    assert table in printed(records) or not records
    assert notes in caption(records)
    assert never not in caption(records)


@pytest.mark.parametrize("seeds", [[0], [0, 1, 2, 3, 4]], ids=["once", "with every seed"])
def test_a_deterministic_fit_has_no_interval_and_pairs_with_every_seed(seeds):
    fits = [train_record("words", seed, 20, deterministic=True) for seed in seeds]
    report = RunReport([*run(baseline=False), *fits])
    shown = report.shown.iloc[0]
    assert (shown["accuracy"], shown["seeds"]) == ("0.980 (deterministic fit)", "")
    row = report.rows[0]
    assert row.values == dict.fromkeys(range(5), 0.98)
    assert [int(mask.sum()) for mask in row.wrong.values()] == [20] * 5
    values = report.table.iloc[0]
    assert values["deterministic"]
    assert values["rank"] == 1
    assert values["seeds"] == len(seeds)
    assert pd.isna(values["accuracy_low"])
    assert not report.table["deterministic"][1:].any()
    assert report.notes[0].startswith("Seeds: 5 per row")
    assert (
        "A deterministic fit is the same with every seed, and has no interval." in report.notes[0]
    )


def test_a_fit_whose_predictions_differ_between_seeds_is_not_called_deterministic():
    same = [train_record("words", seed, 20) for seed in range(5)]
    assert "(deterministic fit)" in printed(same)
    others = [train_record("words", seed, range(seed, seed + 20)) for seed in range(5)]
    assert "deterministic" not in f"{printed(others)}{caption(others)}"


def test_another_reference_may_be_asked_for():
    table = make_table(run(), reference="fused+none").set_index("pe")
    assert set(table["reference"]) == {name(pe="none")}
    assert table["train_ratio"]["rope"] == pytest.approx(0.5, abs=0.01)


def test_tables_are_the_same_bytes_each_time_and_can_be_read_back(tmp_path):
    write_tables(RunReport(run()), tmp_path)
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    write_tables(RunReport(run()), tmp_path)
    assert first == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(first) == {"table.csv", "table.md", "table.tex"}
    read = pd.read_csv(io.BytesIO(first["table.csv"]))
    assert list(read["rank"]) == [1, 2, 2, 4]
    assert first["table.md"].count(b" 2= |") == 2
    assert "- Reference: fused+rope" in first["table.md"].decode()


def test_seconds_of_trainings_on_different_machines_are_left_blank():
    """Scores compare wherever they come from, and times do not."""
    rows = [cell(), cell(attention="naive")]

    def table(*machines: dict[str, Any]) -> pd.DataFrame:
        records = [train_record(row, seed, 3) for row in rows for seed in range(2)]
        return make_table(
            [
                record.model_copy(update={"environment": {**record.environment, **machine}})
                for record, machine in zip(records, itertools.cycle(machines), strict=False)
            ]
        )

    new, old = {"node": "a", "device_name": "new"}, {"node": "b", "device_name": "old"}
    assert table(new, old)["train_seconds"].isna().all()
    for field, values in (("device_name", ("new", "old")), ("threads", (1, 2))):
        assert table(*({field: value} for value in values))["train_seconds"].isna().all(), field
    assert table(new, {**new, "node": "c"})["train_seconds"].tolist() == [10.0, 10.0]
    assert table(new, old)["accuracy_mean"].notna().all()
