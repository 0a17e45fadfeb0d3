"""Rows that were trained elsewhere, to stand beside a run's own: published, or of another run."""

from __future__ import annotations

import lzma
from collections.abc import Sequence
from pathlib import Path

from zoo.config.request import PUBLISHED, Request
from zoo.errors import ZooError, listed
from zoo.sweep.keys import stale_rows
from zoo.sweep.records import Record, RecordFile, other_settings
from zoo.sweep.run import SHARED, PreparedRun

# The published profile, which travels with the package; ``python -m bench.publish`` writes it.
CARRIED = Path(__file__).with_name("published.jsonl.xz")
NAMED = 4  # changes that a reason names


def read_against(source: str | Path, requests: Sequence[Request]) -> list[Record]:
    """The trainings on streamed data of a run's directory, or the published ones.

    Raises ZooError where there are none, and for a request of data that are not streamed, on which
    rows are not compared by their examples until solved.
    """
    for request in requests:
        if not request.training.evaluate_every:
            data = request.data or f"the default data of --task {request.task}"
            raise ZooError(
                f"--against: {data} is not streamed; 'zoo info data/NAME' says whether one is"
            )
    if str(source) == PUBLISHED:
        lines = lzma.decompress(CARRIED.read_bytes()).splitlines() if CARRIED.exists() else []
        records = [Record.model_validate_json(line) for line in lines]
    else:
        directory = Path(source).expanduser()
        places = [directory, *sorted(directory.glob("*/"))]
        records = [record for place in places for record in RecordFile(place).read()]
    if streamed := [record for record in records if "solved" in record.metrics]:
        return streamed
    raise ZooError(f"--against {source}: no records of streamed data there")


def beside(records: Sequence[Record], runs: Sequence[PreparedRun]) -> list[list[Record]]:
    """Those of the records that fit each run: of the same texts, trained in the same way.

    What does not fit is said in a notice, and what is stale in the reason of its records.
    Raises ZooError where nothing fits.
    """
    fitting, notices = list[list[Record]](), list[str]()
    for run in runs:
        data = run.config["data"]
        there = [r for r in records if r.config["data"]["fingerprint"] == data["fingerprint"]]
        parts = [part for part in SHARED if part != "data"]
        options = run.plan.task.options().model_dump()
        misfit = other_settings(there, run.config, parts, options) if there else "other texts"
        if misfit:
            notices.append(f"--against: {data['name']} stands alone: rows there have {misfit}")
        fitting.append([] if misfit else there)
    if not any(fitting):
        raise ZooError("; ".join(notices))
    used = [record for there in fitting for record in there]
    stale = {name: f"stale: {listed(changes, NAMED)}" for name, changes in stale_rows(used)}
    for notice in notices:
        runs[0].progress.notice(notice)
    return [
        [record.model_copy(update={"reason": stale.get(record.name, "")}) for record in there]
        for there in fitting
    ]
