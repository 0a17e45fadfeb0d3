"""The models that a run trained, as directories beneath it that ``zoo.load`` takes.

They are ``models/ROW-seed-S-KEY`` in the run's directory. Which row is the best is known only when
all are trained: until then its candidates are in ``unfinished/models``, where a run that is
interrupted finds them again.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from zoo.config.request import Request
from zoo.config.settings import Training
from zoo.execution.artifacts import UNFINISHED
from zoo.execution.base import Job, ModelSpec, Result, TrainJob
from zoo.sweep.records import Record
from zoo.sweep.run_state import RunState, Work
from zoo.sweep.slug import slug

MODELS = "models"
LONGEST = 100  # letters of a row's name in that of a directory


@dataclass(frozen=True)
class Keep:
    """What a run needs to keep models, given by rooms above this one.

    write: puts the model of a job that ended well into a directory that is not there yet. best: the
    name of the row that the answer to these records names; empty where there is none.
    """

    write: Callable[[Work, TrainJob, Result, Path], None]
    best: Callable[[Request, Sequence[Record]], str]


class KeptModels:
    """Keeps the models of one run as its request's ``save_models`` says."""

    def __init__(self, this: RunState, how: Keep | None) -> None:
        self.this, self.how, self.which = this, how, this.request.save_models
        assert how is not None or self.which == "none", "there is no way to write models"

    def wants(self, model: ModelSpec) -> bool:
        """Whether the weights of this row are needed. A baseline is no model that can be loaded."""
        return self.which != "none" and not model.baseline

    def keep(self, job: TrainJob, result: Result) -> str:
        """Write the model of a job that ended.

        Its place relative to the run's directory; empty where the job failed, or where it is known
        only later whether the model is kept.
        """
        if result.status != "ok":
            return ""
        place = self._place(job.model.name, job.seed, job.key)
        self._write(job, result, place if self.which == "all" else self._candidate(place))
        return place if self.which == "all" else ""

    def complete(self) -> int:
        """Have every model there that is to be kept; how many were trained again for it.

        That is so for records of a run that kept no models, or others.
        """
        if self.which == "none":
            return 0
        assert self.how is not None
        this = self.this
        for unfinished in (this.directory / MODELS).glob(".*.draft"):  # left by a kill
            shutil.rmtree(unfinished)
        records = [r for r in this.records if r.kind == "train" and r.status == "ok" and r.cell]
        if self.which == "best":
            best = self.how.best(this.request, this.records)
            records = [record for record in records if record.name == best]
        missing: dict[str, Record] = {}
        for record in records:
            place = self._place(record.name, record.seed, record.key)
            final, candidate = this.directory / place, this.directory / self._candidate(place)
            if candidate.is_dir() and not final.exists():
                final.parent.mkdir(exist_ok=True)
                os.replace(candidate, final)
            if final.is_dir():
                self._note(record, place)
            else:
                missing[record.key] = record
        self._train_again(missing)
        # Of jobs too whose record was written just before an interruption.
        for name in (MODELS, *(record.key for record in this.records)):
            shutil.rmtree(this.directory / UNFINISHED / name, ignore_errors=True)
        with contextlib.suppress(OSError):
            (this.directory / UNFINISHED).rmdir()
        return len(missing)

    def _train_again(self, missing: dict[str, Record]) -> None:
        jobs: list[Job] = []
        for key, record in missing.items():
            setup = self.this.prepared.setup
            setup = replace(setup, training=Training(**record.config["training"]))
            name = f"{record.name} seed {record.seed} for its weights"
            model = ModelSpec(record.cell)
            jobs.append(TrainJob(setup, name, key, model, record.seed or 0, save_weights=True))

        def ended(job: Job, result: Result) -> None:
            assert isinstance(job, TrainJob)
            if result.status != "ok":
                what = f"{job.name}: {result.status}: {result.reason}; its model is not kept"
                self.this.work.progress.notice(what)
                return
            place = self._place(job.model.name, job.seed, job.key)
            self._write(job, result, place)
            self._note(missing[job.key], place)

        if jobs:
            self.this.run_jobs(MODELS, jobs, ended)

    def _write(self, job: TrainJob, result: Result, place: str) -> None:
        assert self.how is not None
        directory = self.this.directory / place
        shutil.rmtree(directory, ignore_errors=True)  # a kill may have come before its record
        self.how.write(self.this.work, job, result, directory)

    def _note(self, record: Record, place: str) -> None:
        """Have the record say where its model is."""
        if record.model != place:
            self.this.replace(record, model=place)

    @staticmethod
    def _place(row: str, seed: int | None, key: str) -> str:
        # The key tells rows apart whose names differ only in signs that a path cannot have.
        return f"{MODELS}/{slug(row)[:LONGEST]}-seed-{seed}-{key[:8]}"

    @staticmethod
    def _candidate(place: str) -> str:
        return f"{UNFINISHED}/{place}"
