"""Executors, metrics and trackers that are wrong in one way each."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from specimens import Specimens, registering

from zoo.config.metric_description import MetricDescription
from zoo.execution.base import Advanced, Artifacts, Ended, Executor, Limits, Result, Started
from zoo.execution.local import InlineExecutor, LocalExecutor, run_job
from zoo.tracking import Tracker

executors, metrics, trackers = Specimens("executor"), Specimens("metric"), Specimens("tracker")
zoo_register = registering(executors, metrics, trackers)


def alone_last(jobs):
    return sorted(jobs, key=lambda job: job.alone)


@executors.caught_by("runs", "gives a .*NoExecutor, no .*Executor")
class NoExecutor:
    def run(self, jobs, *, limits, directory):
        return iter(())


@executors.caught_by("runs", "abstract")
class CannotRun(Executor):
    pass


@executors.caught_by("runs", "start, then end, once; never ended: a job that runs alone")
class RunsNothing(Executor):
    def run(self, jobs, *, limits, directory):
        return iter(())


@executors.caught_by("runs", "at most 1 at a time; it says Started a job after")
class LosesTheLastJob(Executor):
    def run(self, jobs, *, limits, directory):
        jobs = alone_last(jobs)
        for job in jobs:
            yield Started(job)
        for item in run_job(jobs[0], directory, limits):
            yield Ended(jobs[0], item) if isinstance(item, Result) else Advanced(jobs[0], item)


@executors.caught_by("runs", "no environment")
class ForgetsTheMachine(Executor):
    def run(self, jobs, *, limits, directory):
        for job in alone_last(jobs):
            yield Started(job)
            *_, result = run_job(job, directory, limits)
            yield Ended(job, replace(result, environment={}))


def described(name: str, **changes):
    from zoo.tasks.base import Metric

    parts = {"description": MetricDescription(name=name, label=name), "compute": lambda _: 0.5}
    return Metric(**{**parts, **changes})


@metrics.caught_by("laws", "gives a .*float, no .*Metric")
def number():
    return 0.5


@metrics.caught_by("laws", "'str' object has no attribute 'name'")
def described_in_text():
    return described("a", description="the share of right answers")


@metrics.caught_by("laws", "'float' object is not callable")
def computed_before():
    return described("computed_before", compute=0.5)


@metrics.caught_by("laws", "name is 'share' instead of 'another_name'")
def another_name():
    return described("share")


def share(outputs):
    return float((outputs["predicted"] == outputs["labels"]).mean())


def macro_recall(outputs):
    right, labels = outputs["predicted"] == outputs["labels"], outputs["labels"]
    return float(np.mean([right[labels == k].mean() for k in np.unique(labels)]))


def computed(name, about, compute):
    return described(
        name, description=MetricDescription(name=name, label=name, **about), compute=compute
    )


SEEN: list[float] = []
KEPT: dict[int, float] = {}
# How the description differs, what is computed, and what is said of it.
WRONG: dict[str, tuple[dict, Callable, str]] = {
    "direction": ({}, lambda o: 1 - share(o), "but higher is said to be better"),
    "percent": ({}, lambda o: 100 * share(o), "not a number from 0 to 1"),
    "rounded": ({}, lambda o: round(share(o), 2), "it is rounded"),
    "first_thousand": (
        {},
        lambda o: share({name: o[name][:1000] for name in ("predicted", "labels")}),
        "each 40 times",
    ),
    "not_paired": ({"paired": True}, macro_recall, "by the mean of examples"),
    "per_class": ({}, lambda o: macro_recall(o) * 4 / o["classes"], "a class that is nowhere"),
    "running_mean": (
        {},
        lambda o: SEEN.append(share(o)) or float(np.mean(SEEN)),
        "perfect must be 1|computed again",
    ),
    "of_numpy": ({}, lambda o: np.float64(share(o)), "float64, no plain float"),
    "sorts": ({}, lambda o: o["labels"].sort() or share(o), "changes the outputs' 'labels'"),
    "drops_empty": ({}, lambda o: o["lengths"].remove(0) or share(o), "changes the outputs' 'leng"),
    "kept": ({}, lambda o: KEPT.setdefault(id(o["labels"]), share(o)), "nothing depends on the"),
    "all_below_the_last": (
        {},
        lambda o: macro_recall(o) * len(set(o["labels"].tolist())) / (1 + int(o["labels"].max())),
        "a class that is nowhere",
    ),
    "labels_alone": ({}, lambda o: float(o["labels"].mean() / 9), "nothing depends on the predi"),
    "total": ({"higher_is_better": False, "highest": None}, lambda o: o["nats"], "each 40 times"),
}
for _name, (_about, _compute, _says) in WRONG.items():
    factory = functools.partial(computed, _name, _about, _compute)
    factory.__name__ = _name
    metrics.caught_by("laws", _says, parameters={})(factory)


@trackers.caught_by("runs", "of another run is gone")
class Overwrites(Tracker):
    def show(self, run):
        (run.directory / "run.txt").write_text(f"{run.name} {dict(run.values)}")


@trackers.caught_by("runs", "it changes the run that it is shown")
class TakesThePhase(Tracker):
    def show(self, run):
        run.config.pop("attention")


@trackers.caught_by("runs", "status 'oom' and 0 values: its name is not shown")
class LeavesOutFailures(Tracker):
    def show(self, run):
        if run.status == "ok":
            with (run.directory / "runs.txt").open("a") as file:
                file.write(f"{run.name} {dict(run.values)}\n")


@trackers.caught_by("runs", "status 'oom' and 0 values: KeyError")
class NeedsAnAccuracy(Tracker):
    def show(self, run):
        return run.values["accuracy"]


@executors.caught_by("runs", "training 0 has ended without its files")
class RemovesFilesFirst(Executor):
    def run(self, jobs, *, limits, directory):
        artifacts = Artifacts(directory)
        for event in InlineExecutor().run(jobs, limits=limits, directory=directory):
            if isinstance(event, Ended):
                artifacts.remove(event.job)
            yield event


@executors.caught_by("runs", "closing the iterator removes what the unfinished job goes on with")
class RemovesWhatIsUnfinished(Executor):
    def run(self, jobs, *, limits, directory):
        try:
            yield from InlineExecutor().run(jobs, limits=limits, directory=directory)
        finally:
            for job in jobs:
                Artifacts(directory).remove(job)


@executors.caught_by("runs", "closing the iterator does not stop the job")
class GoesOnWhenClosed(LocalExecutor):
    def run(self, jobs, *, limits, directory):
        # Kept, for it would be closed with this call.
        self.events = super().run(jobs, limits=limits, directory=directory)
        while event := next(self.events, None):
            yield event


@executors.caught_by("runs", "which must fail: ok")
class AlwaysFine(Executor):
    def run(self, jobs, *, limits, directory):
        for job in alone_last(jobs):
            yield Started(job)
            *_, result = run_job(job, directory, limits)
            yield Ended(job, Result(environment=result.environment))


@executors.caught_by("runs", "at most 1 at a time; it says Started")
class StartsAll(Executor):
    def run(self, jobs, *, limits, directory):
        jobs = alone_last(jobs)
        yield from map(Started, jobs)
        for job in jobs:
            *_, result = run_job(job, directory, limits)
            yield Ended(job, result)


@executors.caught_by("runs", "a job that runs alone: it must come last, alone")
class TakesTurns(InlineExecutor):
    def run(self, jobs, *, limits, directory):
        for job in jobs:
            yield from super().run([job], limits=limits, directory=directory)


@executors.caught_by("runs", "training 1 has the losses")
class IgnoresTheSeed(InlineExecutor):
    def run(self, jobs, *, limits, directory):
        asked = {job.key: job for job in jobs}
        one = [replace(job, seed=0) if hasattr(job, "seed") else job for job in jobs]
        for event in super().run(one, limits=limits, directory=directory):
            yield replace(event, job=asked[event.job.key])


@executors.caught_by("runs", "all jobs have ended, and it leaves checkpoint.pt, weights")
class LeavesWeights(Executor):
    def run(self, jobs, *, limits, directory):
        artifacts = Artifacts(directory)
        for job in alone_last(jobs):
            yield Started(job)
            for item in run_job(job, artifacts.of(job), limits):
                if isinstance(item, Result):
                    yield Ended(job, artifacts.with_files(job, item))
                else:
                    yield Advanced(job, item)


@executors.caught_by("runs", "begins a job anew that another run in the same directory has begun")
class BeginsAnew(LocalExecutor):
    def run(self, jobs, *, limits, directory):
        for job in jobs:
            Artifacts(directory).remove(job)
        yield from super().run(jobs, limits=limits, directory=directory)


@executors.caught_by("runs", "a job that takes longer than `timeout` ends with ")
class HasPatience(LocalExecutor):
    def run(self, jobs, *, limits, directory):
        for event in super().run(jobs, limits=replace(limits, timeout=None), directory=directory):
            yield event
            if limits.timeout and isinstance(event, Advanced):
                return


@executors.caught_by("runs", "asked for Limits.*timeout=4.0.*, it takes")
class ForgetsTheTimeout(LocalExecutor):
    def default_limits(self, asked, trainings=1):
        return Limits(asked.jobs or 1, asked.threads or 1)


@executors.caught_by("runs", "at most 1 at a time")
class RunsTwo(LocalExecutor):
    def run(self, jobs, *, limits, directory):
        yield from super().run(jobs, limits=replace(limits, jobs=2), directory=directory)


@executors.caught_by("runs", "2 threads, not 1")
class TakesTwoThreads(LocalExecutor):
    def run(self, jobs, *, limits, directory):
        yield from super().run(jobs, limits=replace(limits, threads=2), directory=directory)


@trackers.caught_by("runs", r"its result is not shown, unlike .* \(2.0625\)")
class KnowsTheFirstColumns(Tracker):
    def show(self, run):
        file = run.directory / "runs.csv"
        columns = file.read_text().split("\n")[0].split(",") if file.exists() else [*run.values]
        with file.open("a") as rows:
            rows.write("" if rows.tell() else ",".join(columns) + "\n")
            rows.write(f"{run.name}," + ",".join(str(run.values.get(c, "")) for c in columns))


@trackers.caught_by("runs", "window.*: FileNotFoundError")
class FilesByName(Tracker):
    def show(self, run):
        with (run.directory / f"{run.name}.txt").open("a") as file:
            file.write(f"{run.name} {run.values}\n")


@trackers.caught_by("runs", "not in the `directory` of that run")
class KeepsTheFirstFolder(Tracker):
    folder = None

    def show(self, run):
        self.folder = self.folder or run.directory
        with (self.folder / "runs.txt").open("a") as file:
            file.write(f"{run.name} {dict(run.values)}\n")


@trackers.caught_by("runs", "gives a .*LooksLikeOne, no .*Tracker")
class LooksLikeOne:
    def start(self, run):
        pass

    def log(self, values, step):
        pass

    def end(self, status, values):
        pass
