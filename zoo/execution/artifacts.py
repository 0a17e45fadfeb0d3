"""The directory of an executor: one directory for each unfinished job, under the job's key."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import replace
from pathlib import Path

from zoo.execution.base import WEIGHTS, Job, Result

UNFINISHED = "unfinished"
OUTPUT = "output.log"


class Artifacts:
    """Files of unfinished jobs within a run's directory, so that any executor can resume them.

    As a context manager it removes the root at the end, if no unfinished job is left there.
    """

    def __init__(self, directory: Path) -> None:
        self.root = directory.absolute() / UNFINISHED

    def of(self, job: Job) -> Path:
        """The directory of a job, made where it does not exist."""
        directory = self.root / job.key
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

    def clear(self) -> None:
        """Remove everything, so that no job resumes."""
        shutil.rmtree(self.root, ignore_errors=True)

    def __enter__(self) -> Artifacts:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self.root.rmdir()
