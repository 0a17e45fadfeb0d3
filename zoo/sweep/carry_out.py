"""The phases of a run, one after another, and the directories of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.errors import ZooError, counted
from zoo.execution.base import Result
from zoo.sweep.cost import measure_rows
from zoo.sweep.keys import digest, slug
from zoo.sweep.records import FILE, Record, RecordFile, differing
from zoo.sweep.run import PreparedRun, Run, model_id
from zoo.sweep.train_rows import train_rows

MOST_REASONS = 3  # of skipped rows, that are said
# What data sets of one task share in one directory, so that they can be in one profile.
SETTINGS = ("sizes", "training", "tuning", "execution", "pretraining")


def carry_out(run: Run, trained: Callable[[], None] = lambda: None) -> None:
    """Train and measure every row. A phase that was not asked for shows what is already there.

    trained: called once all trainings have ended, where one has a score and costs are still to be
    measured.
    """
    _skipped(run)
    chosen = train_rows(run)
    scored = any(record.kind == "train" and record.status == "ok" for record in run.records)
    before = trained if scored and "train" in run.prepared.request.phases else None
    measure_rows(run, chosen, before)


def _skipped(run: Run) -> None:
    """A record for every row that cannot run; why is said before anything is trained."""
    prepared = run.prepared
    reasons = Counter(row.skip_reason for row in prepared.plan.rows if row.skip_reason)
    for reason, rows in reasons.most_common(MOST_REASONS):
        prepared.progress.notice(f"{counted(rows, 'row')} skipped: {reason}")
    if len(reasons) > MOST_REASONS:
        prepared.progress.notice("rows are skipped for other reasons too: --plan lists them")
    for row in prepared.plan.rows:
        if row.skip_reason:
            key = digest(["skipped", model_id(row), row.skip_reason, prepared.config])
            if not run.reuse(key, asked_for=False):
                skipped = Result("skipped", row.skip_reason)
                run.record("train", row, key, prepared.request.training, skipped)


def place_of(run: PreparedRun, out: Path | None) -> Path:
    """The directory of a run on one data set, by default ``runs/TASK-DATA-HASH``.

    Raises ZooError where ``out`` holds a run on several.
    """
    config = run.config
    if out is None:
        data = slug(config["data"]["name"])
        return Path("runs") / f"{config['task']}-{data}-{digest(config)[:8]}"
    if others := _data_sets_in(out):
        raise ZooError(
            f"--out {out} holds a run on several data sets ({', '.join(others)}); choose another "
            "directory"
        )
    return out


def places_of(runs: Sequence[PreparedRun], name: str, out: Path | None) -> tuple[Path, list[Path]]:
    """The directory of a run on several data sets, and beneath it one for each of them.

    name: of the run, used for its directory under ``runs``. Raises ZooError where ``out`` holds a
    run on one data set, or data sets with other settings.
    """
    configs = [run.config for run in runs]
    root = out or Path("runs") / f"{name}-{digest(configs)[:8]}"
    if (root / FILE).exists():
        raise ZooError(
            f"--out {root} holds a run on one data set, and this one is on {len(runs)}; choose "
            "another directory"
        )
    names = directory_names([config["data"]["name"] for config in configs])
    for other, record in _data_sets_in(root).items():
        if other not in names:
            _refuse_other_profile(record.config, configs, f"{root} holds data set {other}")
    return root, [root / each for each in names]


def _refuse_other_profile(
    there: Mapping[str, Any], configs: Sequence[Mapping[str, Any]], where: str
) -> None:
    """ZooError where a data set has settings that no one of these of its task has."""
    alike = [config for config in configs if config["task"] == there["task"]]
    found = [differing(there, config, SETTINGS) for config in alike]
    if found and all(found):
        raise ZooError(
            f"--out {where} with {found[0]}: one profile would mix them; choose another directory"
        )


def _data_sets_in(directory: Path) -> dict[str, Record]:
    """The directories of data sets beneath a run's, each with a record of it."""
    places = [file.parent for file in sorted(directory.glob(f"*/{FILE}"))]
    return {place.name: records[0] for place in places if (records := RecordFile(place).read())}


def directory_names(names: Sequence[str]) -> list[str]:
    """A directory's name for each data set, all different: equal ones are numbered."""
    wanted, found = [slug(name) for name in names], list[str]()
    for name in wanted:
        numbered = (f"{name}-{number}" for number in range(2, len(names) + 2))
        free = (each for each in numbered if each not in found and each not in wanted)
        found.append(name if name not in found else next(free))
    return found
