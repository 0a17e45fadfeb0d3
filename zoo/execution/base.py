"""Jobs, their results, and the interface of the executors that run them. No torch here.

A job is plain data without a path of the machine that submits it: it finds its data by their key
in the cache of the machine that runs it, single-file plug-ins travel as bytes, and its artifacts
(checkpoint, trained weights) lie in a directory that the executor gives it.
"""

from __future__ import annotations

import contextlib
import shutil
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from zoo.config.settings import NO_PRETRAINING, Execution, Pretraining, Training
from zoo.config.sizes import Sizes
from zoo.execution.machine import default_threads, own_cores
from zoo.files import writing
from zoo.registry.cell import ModelParts

Status = Literal["ok", "skipped", "oom", "timeout", "crashed", "diverged", "lost"]
WEIGHTS = "weights.safetensors"
UNFINISHED, OUTPUT = "unfinished", "output.log"  # names of a directory and a file of a run


@dataclass(frozen=True)
class CodeVersion:
    """A distribution, its version, and those of its modules that a job runs: name to hash.

    Names in the zoo's own code are paths in its package, such as ``train`` or ``models/build.py``.
    The hashes are of bytes: they take a hundredth of the time of those of syntax trees.
    """

    distribution: str
    version: str
    modules: Mapping[str, str]


@dataclass(frozen=True)
class JobSetup:
    """What all jobs of one run share.

    execution: device and precision as resolved before the first job. data: the key of the encoded
    data in the cache; empty where examples are made up. plugin_files: name and content of each
    single-file plug-in. plugin_selection: the value of ``ZOO_PLUGINS``; None where it is not set.
    code: of the zoo, and of every distribution whose components are used; a job is refused where
    other code is installed. pretraining: what encoders begin with. solved_at: the score from which
    on the task counts as solved; None where the data do not say.
    """

    task: str
    task_options: Mapping[str, Any]
    sizes: Sizes
    training: Training
    execution: Execution
    data: str = ""
    plugin_files: tuple[tuple[str, bytes], ...] = ()
    plugin_selection: str | None = None
    code: tuple[CodeVersion, ...] = ()
    pretraining: Pretraining = NO_PRETRAINING
    solved_at: float | None = None


@dataclass(frozen=True)
class Job:
    """One piece of work. name: for people. key: identifies the work; unique within a run.

    alone: no other job may run on its machine meanwhile. Such a job starts processes of its own.
    """

    kind: ClassVar[str]
    alone: ClassVar[bool] = False
    setup: JobSetup
    name: str
    key: str


@dataclass(frozen=True)
class InspectJob(Job):
    """Describe the machine: the result's environment."""

    kind: ClassVar[str] = "inspect"


@dataclass(frozen=True)
class TrainJob(Job):
    """Train one model with one seed.

    save_weights: leave ``WEIGHTS`` among the artifacts. all_data: train on every split, so that
    nothing is left to score the model on.
    """

    kind: ClassVar[str] = "train"
    model: ModelParts = field(default_factory=dict)
    seed: int = 0
    save_weights: bool = False
    all_data: bool = False


@dataclass(frozen=True)
class CostMember:
    """A model in a cost measurement.

    training: None for the settings of the run. full_length: measure on this many made-up examples
    of ``max_length`` tokens, and not on the data; 0: on the data.
    """

    model: ModelParts
    training: Training | None = None
    full_length: int = 0


@dataclass(frozen=True)
class CostJob(Job):
    """Measure speed and memory of some models in turns.

    The first member is the reference. blocks: in which each has a turn; 0: as many as it takes
    (``measure.turns``).
    """

    kind: ClassVar[str] = "cost"
    alone: ClassVar[bool] = True
    members: tuple[CostMember, ...] = ()
    blocks: int = 0

    def results(self, result: Result) -> Iterable[tuple[CostMember, Result]]:
        """Each member with its result. Where the whole job failed, that is the result of each."""
        return zip(self.members, result.members or (result,) * len(self.members), strict=True)


@dataclass(frozen=True)
class Limits:
    """What jobs may use. jobs: how many may run at once; 0: as a cluster has room for.

    timeout: seconds per training, or per step of a cost measurement; None: no limit.
    """

    jobs: int = 1
    threads: int = 1
    timeout: float | None = None


@dataclass(frozen=True)
class Result:
    """What became of a job, wherever it ran; ``skipped``: a component refused to be built so.

    rejected: the reason is an error of the user (a ZooError), not of the work. environment: of the
    machine that ran it. seconds: from start to end. sample_outputs: of a model whose weights were
    saved. members: of a cost job, one result for each member. artifacts: files by name, on the
    machine that submitted the job.
    """

    status: Status = "ok"
    reason: str = ""
    traceback: str = ""
    rejected: bool = False
    metrics: Mapping[str, Any] = field(default_factory=dict)
    curve: Sequence[Mapping[str, float]] = ()
    samples: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    sample_outputs: Mapping[str, Any] = field(default_factory=dict)
    members: tuple[Result, ...] = ()
    artifacts: Mapping[str, Path] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class Step:
    """Progress within a job: ``done`` of ``total`` epochs or blocks.

    loss: of the epoch that has just ended; None within an epoch.
    """

    done: float
    total: int
    loss: float | None = None


@dataclass(frozen=True)
class Started:
    """A job has begun. node: the machine of a cluster, by its name."""

    job: Job
    node: str = ""


@dataclass(frozen=True)
class Advanced:
    """A job has come further."""

    job: Job
    step: Step


@dataclass(frozen=True)
class Ended:
    """A job has ended; every job given to an executor ends exactly once."""

    job: Job
    result: Result
    node: str = ""


@dataclass(frozen=True)
class Notice:
    """Something worth a line: a machine that is left out, or one that was lost."""

    text: str


Event = Started | Advanced | Ended | Notice


class Artifacts(contextlib.AbstractContextManager["Artifacts"]):
    """Files of unfinished jobs within a run's directory, so that any executor can resume them.

    Each job has a directory under its key. As a context manager it removes the root at the end, if
    no unfinished job is left there.
    """

    def __init__(self, directory: Path) -> None:
        self.root = directory.absolute() / UNFINISHED

    def of(self, job: Job) -> Path:
        """The directory of a job, made where it does not exist. Raises WriteError."""
        directory = self.root / job.key
        with writing(directory):
            directory.mkdir(parents=True, exist_ok=True)
        return directory

    def with_files(self, job: Job, result: Result) -> Result:
        """The result with the artifacts that the job left; they exist until ``remove``."""
        weights = self.root / job.key / WEIGHTS
        return replace(result, artifacts={WEIGHTS: weights}) if weights.is_file() else result

    def remove(self, job: Job) -> None:
        """Remove what a finished job no longer needs. The root stays until the end.

        Removing the root as well would race with a job that is about to write there.
        """
        shutil.rmtree(self.root / job.key, ignore_errors=True)

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self.root.rmdir()


class Executor(ABC):
    """Runs jobs. Declared with ``@part("executor", name)``; opened once a run.

    Its parameters, as in ``--on "ray(address=10.0.0.1:6379)"``, say where jobs run and never what
    they are: no record and no suite has them.
    """

    @abstractmethod
    def run(self, jobs: Sequence[Job], *, limits: Limits, directory: Path) -> Generator[Event]:
        """Run the jobs and yield events as they happen, in any order.

        directory: of the run, where artifacts of unfinished jobs stay (``Artifacts``), so that the
        same request resumes them, on this executor or another. A job that runs on another machine
        may begin anew. Jobs that are ``alone`` come after the others. A result without an
        environment counts as of the machine that ran the run's InspectJob: an executor of several
        machines adds what is missing. Closing the iterator stops the jobs.
        """

    def connect(self) -> None:
        """Connect, before any data are loaded, and not with the first job. Raises ZooError."""
        return

    def close(self) -> None:
        """Release what the executor holds, such as a connection; the run is over."""
        return

    def default_limits(self, asked: Limits, trainings: int = 1) -> Limits:
        """The limits, with what was not asked for (jobs 0, threads 0) as this executor has it.

        Raises ZooError for limits that it cannot keep.

        trainings: models that the whole plan trains on this machine's CPU; 1 elsewhere, and for
        what runs alone. By default each has its share of the cores, as far as ``OMP_NUM_THREADS``
        allows, and as many as fit run at once; one where threads were asked for.
        """
        threads = default_threads(trainings)
        fitting = 1 if asked.threads else max(1, min(trainings, own_cores() // threads))
        return replace(asked, jobs=asked.jobs or fitting, threads=asked.threads or threads)
