"""Cost probes: a few cells side by side, measured in turn, with nothing else running."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoo.errors import ZooError
from zoo.execution.base import Probe, Setting
from zoo.execution.process import Worker, WorkerError
from zoo.measure.summary import summarise
from zoo.sweep.plan import Planned
from zoo.sweep.progress import Progress
from zoo.sweep.records import Status

GROUP = 6  # cells measured together, beside the reference and its twin; each keeps its process
ROUND_SECONDS = 1.5  # what a cell's part of a round should take at most


@dataclass(frozen=True)
class ProbeOutcome:
    """How a probe ended: metrics for the table, and the raw samples they came from."""

    row: Planned
    status: Status
    reason: str = ""
    metrics: dict[str, Any] = field(default_factory=dict)
    samples: dict[str, Any] = field(default_factory=dict)


@dataclass
class _Measured:
    """A row on the bench. twin: the reference a second time, to tell the machine's noise."""

    row: Planned
    twin: bool = False
    worker: Worker | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    memory: dict[str, Any] = field(default_factory=dict)
    step_seconds: float = 0.0
    rounds: list[dict[str, Any]] = field(default_factory=list)
    failure: WorkerError | None = None


def run_probes(
    rows: Sequence[Planned],
    *,
    reference: Planned,
    setting: Setting,
    rounds: int,
    timeout: float | None,
    log: Path,
    progress: Progress,
    done: Callable[[ProbeOutcome], None],
) -> None:
    """Measure every row, and the reference and its twin in the same rounds as each.

    timeout: seconds that preparing a row, or one round of it, may take.
    """
    if not rows:
        return
    rate = _matrix_rate(setting, log)
    others = [row for row in rows if row.name != reference.name]
    groups = [others[i : i + GROUP] for i in range(0, len(others), GROUP)] or [[]]
    wanted = {row.name for row in rows}
    for group in groups:
        bench = [_Measured(reference), _Measured(reference, twin=True)]
        bench += [_Measured(row) for row in group]
        _measure(bench, setting, rounds, timeout, log, progress)
        session = uuid.uuid4().hex[:12]
        for one in bench:
            if one.twin or one.row.name not in wanted:
                continue
            wanted.discard(one.row.name)
            outcome = _outcome(one, bench[0], bench[1], rate, session)
            done(outcome)
            progress.ended(one.row.name, outcome.status, outcome.reason, None)


def _measure(
    bench: list[_Measured],
    setting: Setting,
    rounds: int,
    timeout: float | None,
    log: Path,
    progress: Progress,
) -> None:
    """Prepare all, then measure all in turn, round by round, in rotating order."""
    try:
        for one in bench:
            if not one.twin:
                progress.started(one.row.name, 0)
            _guarded(one, functools.partial(_prepare, one, setting, timeout, log))
        for one in bench:
            if one.failure is None:
                _guarded(one, functools.partial(_warm_up, one, timeout))
        able = [one for one in bench if one.failure is None]
        if not able:
            return
        steps = _steps(able)
        for number in range(rounds):
            turn = number % len(able)
            for one in able[turn:] + able[:turn]:
                if one.failure is None:
                    _guarded(one, functools.partial(_round, one, steps, timeout))
            progress.round(number + 1, rounds)
    finally:
        for one in bench:
            if one.worker is not None:
                one.worker.stop()


def _steps(able: Sequence[_Measured]) -> int:
    """Batches of a round: as many for each as the slowest can do in its time, at least one."""
    stepped = [one for one in able if "infer_batches" not in one.facts]
    if not stepped:
        return 1
    slowest = max(one.step_seconds for one in stepped)
    return max(1, min(len(stepped[0].facts["batches"]), int(ROUND_SECONDS / slowest)))


def _prepare(one: _Measured, setting: Setting, timeout: float | None, log: Path) -> None:
    """Memory in processes of its own, then the process that the rounds will use."""
    probe = Probe(setting, one.row.subject)
    if not one.twin:
        for phase in ("training", "inference"):
            with Worker(setting.threads, log, setting.memory_limit) as worker:
                one.memory[phase] = worker.call("memory", (probe, phase), timeout=timeout)
    one.worker = Worker(setting.threads, log, setting.memory_limit)
    one.facts = one.worker.call("prepare", probe, timeout=timeout)


def _warm_up(one: _Measured, timeout: float | None) -> None:
    assert one.worker is not None
    one.step_seconds = one.worker.call("warm-up", timeout=timeout)


def _round(one: _Measured, steps: int, timeout: float | None) -> None:
    assert one.worker is not None
    one.rounds.append(one.worker.call("round", steps, timeout=timeout))


def _guarded(one: _Measured, work: Callable[[], None]) -> None:
    """Do the work; a failure is the row's own and stops nothing else."""
    try:
        work()
    except WorkerError as failure:
        one.failure = failure
    except ZooError as error:
        one.failure = WorkerError("crashed", str(error))


def _matrix_rate(setting: Setting, log: Path) -> float | None:
    try:
        with Worker(setting.threads, log) as worker:
            rate: float = worker.call("matrix-rate", setting)
            return rate
    except WorkerError:
        return None


def _outcome(
    one: _Measured, reference: _Measured, twin: _Measured, rate: float | None, session: str
) -> ProbeOutcome:
    if one.failure is not None:
        return ProbeOutcome(one.row, one.failure.status, one.failure.reason)
    samples = {
        "session": session,
        "facts": one.facts,
        "memory": one.memory,
        "rounds": one.rounds,
        "reference": {"name": reference.row.name, "rounds": reference.rounds},
        "twin": {"rounds": twin.rounds},
        "matrix_rate": rate,
    }
    return ProbeOutcome(one.row, "ok", metrics=summarise(samples), samples=samples)
