"""``--until``: seeds are added one by one until there are enough."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from small_runs import CLASSIFY, LM, bench

from zoo.config.request import Request
from zoo.errors import ZooError
from zoo.report.html.report_page import report_page
from zoo.report.read import read_run
from zoo.report.run_report import RunReport
from zoo.report.stats.paired import level_of
from zoo.sweep.records import Record
from zoo.wording import counted

OPTIONS: dict[str, Any] = {**CLASSIFY, "phases": "train", "seeds": 6, "until": 1.0, "epochs": 1}


def test_seeds_are_added_after_the_first_three_until_there_are_enough(
    corpus: Path, tmp_path: Path
) -> None:
    analyses = []

    def settled(request: Request, records: Sequence[Record]) -> bool:
        seeds = {record.seed for record in records if record.cell}
        analyses.append(len(seeds))
        return len(seeds) == 4

    options = {**OPTIONS, "data": str(corpus), "attention": "fused,naive"}
    outcome = bench(tmp_path, options, settled=settled)
    assert analyses == [3, 4]
    trained = [(r.seed, r.cell["attention"]) for r in outcome.records if r.cell]
    assert trained == [(seed, name) for seed in range(4) for name in ("fused", "naive")]
    again = bench(tmp_path, options, settled=settled)
    assert (again.trained, len(again.records)) == (0, len(outcome.records))
    more = bench(tmp_path, options)  # never settled: all seeds
    assert {r.seed for r in more.records} == set(range(6))


def test_equal_cells_are_settled_at_the_first_look(corpus: Path, tmp_path: Path) -> None:
    from zoo.api import seeds_settled

    options = {**OPTIONS, "data": str(corpus), "attention": "fused,split", "until": 50.0}
    outcome = bench(tmp_path, options, settled=seeds_settled)
    assert {r.seed for r in outcome.records if r.cell} == {0, 1, 2}


def test_a_report_of_the_records_alone_has_the_level_that_the_run_decided_at(
    corpus: Path, tmp_path: Path
) -> None:
    levels = []

    def settled(request: Request, records: Sequence[Record]) -> bool:
        levels.append(RunReport(records).verdicts.level)
        return len(levels) == 2

    options = {**OPTIONS, "data": str(corpus), "attention": "fused,naive"}
    outcome = bench(tmp_path, options, settled=settled)
    assert levels == [level_of(4)] * 2 == [pytest.approx(0.05 / 4)] * 2
    for records in (outcome.records, read_run(tmp_path)):
        assert RunReport(records).verdicts.level == levels[0]
    trained = [r for r in outcome.records if r.kind == "train"]
    assert all(r.config["until"] == {"points": 1.0, "analyses": 4} for r in trained)
    once = bench(tmp_path / "once", {**options, "until": None, "seeds": 4}).records
    assert [r.key for r in once] == [r.key for r in outcome.records]
    assert RunReport(once).verdicts.level == pytest.approx(0.05)


def test_records_of_a_run_without_it_are_taken_over_and_state_the_analyses(
    corpus: Path, tmp_path: Path
) -> None:
    options = {**OPTIONS, "data": str(corpus), "attention": "fused,naive"}
    first = bench(tmp_path, {**options, "until": None, "seeds": 3})
    assert RunReport(read_run(tmp_path)).verdicts.level == pytest.approx(0.05)
    shown = bench(tmp_path, options, collect=True)
    assert shown.records == first.records == read_run(tmp_path), "only read"
    stopped = bench(tmp_path, options, settled=lambda *_: True)
    assert (stopped.trained, len(stopped.records)) == (0, len(first.records))
    assert RunReport(read_run(tmp_path)).verdicts.level == level_of(4)
    longer = bench(tmp_path, {**options, "seeds": 9}, settled=lambda *_: True)
    assert RunReport(longer.records).verdicts.level == level_of(7)
    size = (tmp_path / "records.jsonl").stat().st_size
    shorter = bench(tmp_path, options, settled=lambda *_: True)
    assert RunReport(shorter.records).verdicts.level == level_of(7), "those were possible"
    assert (tmp_path / "records.jsonl").stat().st_size == size
    page = report_page(RunReport(read_run(tmp_path)), [])
    assert f"{counted(len(first.records), 'training')}<" in page


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({**LM, "seeds": 5, "until": 1.0}, "bits/byte, which is none"),
        ({**CLASSIFY, "until": 1.0}, "give the most with --seeds"),
        ({**CLASSIFY, "until": 1.0, "seeds": 9, "phases": "cost"}, "adds seeds to the first 3"),
        ({**CLASSIFY, "until": -1.0, "seeds": 9}, "--until -1.0"),
    ],
)
def test_what_cannot_be_settled_is_refused(
    options: dict[str, Any], says: str, tmp_path: Path, book: Path
) -> None:
    with pytest.raises(ZooError, match=says):
        bench(tmp_path, {**options, "data": str(book)})
