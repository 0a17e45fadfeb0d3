"""``--until``: seeds are added one by one until there are enough."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from small_runs import CLASSIFY, LM, bench

from zoo.config.request import Request
from zoo.errors import ZooError
from zoo.sweep.records import Record

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
