"""What runs jobs, and what shows runs: a recorded exchange."""

from __future__ import annotations

import builtins
import contextlib
import copy
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from zoo.config.request import Request
from zoo.config.settings import Execution, Training
from zoo.config.sizes import Sizes
from zoo.conformance.assertions import must
from zoo.conformance.models import PLAIN_PARTS
from zoo.conformance.outcomes import CheckSkipped
from zoo.conformance.parts import Part, is_a
from zoo.errors import ZooError
from zoo.execution.base import (
    UNFINISHED,
    WEIGHTS,
    Advanced,
    Ended,
    Executor,
    InspectJob,
    Job,
    JobSetup,
    Limits,
    Notice,
    Result,
    Started,
    TrainJob,
)
from zoo.execution.local import InlineExecutor
from zoo.files import scratch_directory
from zoo.registry.cell import Cell
from zoo.registry.loading import built_ins
from zoo.tracking import TrackedRun, Tracker, TrackerThread

PATIENCE = 60.0  # seconds for a job to end that may take four
FAILS = "a training of no model, which must fail"


def runs(part: Part) -> None:
    """Each job is told once, within limits, and goes on later; each run is shown and stays."""
    {"executor": _executor, "tracker": _tracker}[part.kind](part)


def _tracker(part: Part) -> None:
    """It shows runs that ended well, or failed with no results, and each stays shown."""
    is_a(part.make(), Tracker)  # also where its library is not installed
    config = {"phase": "train", "attention": "fused", "dim": 16, "lr": 0.5, "compile": False}
    config |= {"seed": 0, "time_budget": None}
    curve = [{"loss": 2.375}, {"loss": 1.125, "validation_accuracy": 0.4375}]
    with scratch_directory() as folder, contextlib.chdir(folder):
        runs, others = folder / "runs", folder / "others"
        first = TrackedRun("fused+rope seed 0", "bench", runs, config, curve=curve)
        first = replace(first, values={"accuracy": 0.8125, "params": 1234.0})
        tuned = replace(first, config={**config, "phase": "tune"}, values={"accuracy": 0.6875})
        failed = replace(first, name="naive+rope seed 1", status="oom", curve=(), values={})
        named = replace(first, name="window(size=4)/fused+rope seed 2", curve=[{"loss": 3.875}])
        named = replace(named, values={"accuracy": 0.5625, "bits/byte": 2.0625})
        again = replace(first, group="other", directory=others, values={"accuracy": 0.3125})
        thread, shown, shows = TrackerThread(part.choice), list[str](), dict[str, bool]()
        for run in (first, failed, tuned, named, again):
            given = copy.deepcopy(run)
            thread.show(run)
            thread.wait()
            must(run == given, f"it changes the run that it is shown ({run.name})")
            # An error of a library's own at once, such as that nobody has logged in.
            away = run is first and not hasattr(builtins, (thread.failure or "").split(":")[0])
            if thread.failure and (away or thread.failure.endswith("is not installed")):
                raise CheckSkipped(f"it cannot show runs here: {thread.failure}")
            what = f"shown {run.name}, with status '{run.status}' and {len(run.values)} values"
            must(thread.failure is None, f"{what}: {thread.failure}")
            text = _written(folder)
            marks = {
                "name": [run.name.rpartition("/")[2]],  # a name of a file cannot have a slash
                "result": [f"{value:g}" for value in run.values.values()],
                "curve": [f"{value:g}" for entry in run.curve for value in entry.values()],
            }
            for sort, each in marks.items():
                lost = [mark for mark in each if mark not in text]
                expected = shows.setdefault(sort, not lost)  # what it shows of the first run
                unlike = f"{what}: its {sort} is not shown, unlike that of {first.name}"
                must(not (expected and lost), f"{unlike} ({', '.join(lost)})")
            gone = [mark for mark in shown if mark not in text]
            must(not gone, f"{what}: what it wrote of another run is gone ({', '.join(gone)})")
            shown += [mark for each in marks.values() for mark in each if mark in text]
        astray = _written(runs) and not _written(others)
        must(not astray, "its files of a run are not in the `directory` of that run")


def _written(folder: Path) -> str:
    """All files, each after its path."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return "\n".join(f"{path}\n{path.read_text('utf-8', 'replace')}" for path in files)


class _Alone(InspectJob):
    """Describe the machine while nothing else runs there."""

    alone: ClassVar[bool] = True


def _training(epochs: int, seed: int = 0) -> TrainJob:
    """A training of a small model, which leaves its weights."""
    registry, sizes = built_ins(), Sizes(dim=8, layers=1, heads=2, ffn_dim=16, max_length=16)
    name = Request().task
    task = registry.choose("task", name).build()
    data = task.load("order(train=24, test=12)", task.options(), sizes, registry).encoded
    training, execution = Training(epochs=epochs, batch_size=8), Execution(device="cpu")
    setup = JobSetup(name, {}, sizes, training, execution, data.key)
    cell = Cell.parse(registry, {**PLAIN_PARTS, "pe": "sin", "pool": "mean"})
    key = f"job-{epochs}-{seed}"
    return TrainJob(setup, f"training {seed}", key, cell.parts, seed, save_weights=True)


def _executor(part: Part) -> None:
    """It starts and ends every job once, also one that fails, and keeps to limits."""
    training, endless = _training(2), _training(100_000)
    jobs = [
        _Alone(training.setup, "a job that runs alone", "job-1"),
        replace(training, name=FAILS, key="job-0", model={}),
        InspectJob(training.setup, "a job", "job-2"),
        InspectJob(training.setup, "a job", "job-3"),  # names are for people
        training,
        _training(3, seed=1),
    ]
    with _opened(part) as made:
        for limits in (Limits(jobs=1, threads=1), Limits(jobs=2, threads=1)):
            if not _keeps(made, limits):
                continue
            with scratch_directory() as directory:
                _exchange(jobs, made.run(jobs, limits=limits, directory=directory), limits)
                left = _files(directory)
                must(not left, f"all jobs have ended, and it leaves {', '.join(left)}")
        free = made.default_limits(Limits(jobs=0, threads=0), trainings=3)
        must(free.threads > 0 and free.jobs >= 0, f"asked for nothing, it takes {free}")
        must(not [*made.run([], limits=Limits(), directory=Path())], "without jobs it gives events")
    with scratch_directory() as directory:
        done = 0.0
        for _ in range(2):
            with _opened(part) as made:
                done = _stopped(made, endless, directory, done)
    with _opened(part) as made, scratch_directory() as directory:
        if _keeps(made, limits := Limits(timeout=4.0)):
            start, status = time.monotonic(), "no"
            for event in made.run([endless], limits=limits, directory=directory):
                status = event.result.status if isinstance(event, Ended) else status
                if time.monotonic() > start + PATIENCE:
                    break
            must(status == "timeout", f"a job that takes longer than `timeout` ends with {status}")


def _opened(part: Part) -> contextlib.closing[Executor]:
    """The executor, as it is opened for a run. Raises CheckSkipped where it cannot be."""
    try:
        made = is_a(part.make(), Executor)
        made.connect()
    except ZooError as error:
        raise CheckSkipped(f"it cannot run here: {error}") from None
    return contextlib.closing(made)


def _stopped(made: Executor, endless: TrainJob, directory: Path, least: float) -> float:
    """How far a job came until no more of its events were asked for: then it stops.

    least: how far another run came, from which it goes on.
    """
    done, here = list[float](), True
    events = made.run([endless], limits=Limits(), directory=directory)
    for event in events:
        here &= not getattr(event, "node", "")
        done += [event.step.done] if isinstance(event, Advanced) else []
        if done and done[-1] >= done[0] + 2:
            break
    must(bool(done), "no event says how far a job is")
    again = "it begins a job anew that another run in the same directory has begun"
    must(done[0] >= least or not here, again)
    events.close()
    must(_at_rest(directory), "closing the iterator does not stop the job")
    kept = _files(directory) or not here
    must(bool(kept), "closing the iterator removes what the unfinished job goes on with")
    return done[-1]


def _keeps(made: Executor, limits: Limits) -> bool:
    """Whether it keeps to these limits; it must, or refuse them."""
    try:
        own = made.default_limits(limits)
    except ZooError:
        return False
    must(own == limits, f"asked for {limits}, it takes {own}")
    return True


def _files(directory: Path) -> list[str]:
    """Names of the files of unfinished jobs."""
    files = (directory / UNFINISHED).rglob("*")
    return sorted({file.name for file in files if file.is_file()})


def _exchange(jobs: Sequence[Job], events: Any, limits: Limits) -> None:
    """What an executor says of the jobs, one of which must fail."""
    running, ended = dict[str, float](), dict[str, Result]()
    for event in events:
        if isinstance(event, Notice):
            continue
        name, others = event.job.name, [key for key in running if key != event.job.key]
        must(event.job in jobs, f"an event is of a job that it was not given: {name}")
        what, key = f"{type(event).__name__} {name}", event.job.key
        told = f"each job must start, then end, once, at most {limits.jobs} at a time; it says"
        fits = isinstance(event, Started) != (key in running) and key not in ended
        must(fits and len(others) < limits.jobs, f"{told} {what} after {[*ended, *running]}")
        if event.job.alone:
            must(not others and len(ended) == len(jobs) - 1, f"{what}: it must come last, alone")
        if isinstance(event, Advanced):
            step, total = event.step, event.job.setup.training.epochs
            must(running[key] <= step.done <= step.total == total, f"{what}: {step}")
        running[key] = event.step.done if isinstance(event, Advanced) else 0.0
        if isinstance(event, Ended):
            del running[key]
            ended[key] = event.result
            files = event.result.artifacts.values()
            must(all(file.is_file() for file in files), f"{name} has ended without its files")
    left = [job.name for job in jobs if job.key not in ended]
    must(not left, f"each job must start, then end, once; never ended: {', '.join(left)}")
    for job in jobs:
        result = ended[job.key]
        what = f"{job.name}: {result.status}: {result.reason}"
        if job.name == FAILS:
            must(result.status not in ("ok", "skipped") and bool(result.reason), what)
            continue
        must(result.status == "ok", what)
        must(bool(result.environment.get("device")), f"{job.name}: no environment")
        threads = result.environment.get("threads")
        must(threads == limits.threads, f"{job.name}: {threads} threads, not {limits.threads}")
        if isinstance(job, TrainJob):
            must(WEIGHTS in result.artifacts, f"{job.name} leaves no weights")
            _is_its_own(job, result)


def _is_its_own(job: TrainJob, result: Result) -> None:
    """The result is what a training of this job gives in this process."""
    with scratch_directory() as directory:
        *_, last = InlineExecutor().run([job], limits=Limits(), directory=directory)
    assert isinstance(last, Ended)
    losses, expected = ([e["loss"] for e in r.curve] for r in (result, last.result))
    same = len(losses) == len(expected) and np.allclose(losses, expected, rtol=1e-3)
    must(same, f"{job.name} has the losses {losses}, and {expected} in this process")
    lost = sorted({*last.result.metrics} - {*result.metrics})
    must(not lost, f"{job.name}: its result lacks {', '.join(lost)}")
    must(result.seconds > 0, f"{job.name}: it took {result.seconds} s")


def _at_rest(directory: Path) -> bool:
    """Whether files stop changing within ten seconds, and for two: a busy machine has pauses."""
    before, same = list[tuple[str, int]](), 0
    for _ in range(20):
        time.sleep(0.5)
        with contextlib.suppress(FileNotFoundError):
            files = [(str(f), f.stat().st_mtime_ns) for f in sorted(directory.rglob("*"))]
            same = same + 1 if files == before else 0
            if same == 4:
                return True
            before = files
    return False
