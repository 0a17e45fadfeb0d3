"""A job is plain data: it can be sent to another machine and holds no path of this one."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from small_runs import CLASSIFY, LM, bench, cell, prepared, write_book, write_corpus

from zoo.data.cache import cache_directory
from zoo.execution.base import (
    DataReference,
    Event,
    Job,
    Limits,
    Result,
    TrainJob,
)
from zoo.execution.local import InlineExecutor
from zoo.execution.run_job import run_job

PLUGIN = '''
"""An attention of a single file."""

from zoo import hookimpl


@hookimpl
def zoo_register(register):
    register("attention", "mine", "zoo.components.attention.fused:Fused", summary="mine",
             capabilities=("padding", "cross", "rotate", "bias"))
    register("executor", "noting", "EXECUTOR", summary="notes the jobs")
'''
JOBS: list[Job] = []


class Noting(InlineExecutor):
    """Runs jobs in this process, as they are after a journey, and notes them."""

    def run(self, jobs: Sequence[Job], *, limits: Limits, directory: Path) -> Iterator[Event]:
        copies = [pickle.loads(pickle.dumps(job)) for job in jobs]
        assert copies == list(jobs)
        JOBS.extend(copies)
        yield from super().run(copies, limits=limits, directory=directory)


def test_jobs_can_be_sent_and_hold_no_path_of_the_machine_that_submits_them(tmp_path):
    """Data, plug-in and run directory have paths; a cache has one as well."""
    JOBS.clear()
    (tmp_path / "data").mkdir()
    plugin = tmp_path / "mine.py"
    plugin.write_text(PLUGIN.replace("EXECUTOR", f"{__name__}:Noting"))
    options = {**CLASSIFY, "data": str(write_corpus(tmp_path / "data")), "attention": "fused,mine"}
    options |= {"baseline": "none", "blocks": 1, "pe": "rope(base=100.0)"}
    outcome = bench(tmp_path / "out", options, on="noting", plugins=(plugin,))
    assert [record.status for record in outcome.records] == ["ok"] * 4
    assert {job.kind for job in JOBS} == {"inspect", "train", "cost"}
    for job in JOBS:
        content = pickle.dumps(job)
        for path in (tmp_path, cache_directory(), Path.cwd(), Path.home()):
            assert str(path).encode() not in content, f"{job.kind} holds {path}"
        assert [file.name for file in job.setup.plugin_files] == ["mine.py"]
        assert job.setup.plugin_files[0].content == plugin.read_bytes()


def train_job(**changes: object) -> TrainJob:
    """A short training on the built-in data."""
    options = {**CLASSIFY, "data": "newswire(train=24,test=8)", "epochs": 1}
    setup = prepared(options).setup
    return TrainJob(replace(setup, **changes), "a cell", "key", model=cell())


def result(job: Job, directory: Path) -> Result:
    """What comes of a job here."""
    directory.mkdir(exist_ok=True)
    *_, last = run_job(job, directory, Limits())
    return last


def test_built_in_data_are_made_again_where_they_are_missing(tmp_path):
    job = train_job()
    expected = result(job, tmp_path)
    shutil.rmtree(cache_directory() / job.setup.data.key)
    again = result(job, tmp_path)
    assert (again.status, again.reason) == ("ok", "")
    assert again.metrics["errors"] == expected.metrics["errors"]


def test_local_files_cannot_be_made_again_and_the_job_says_so(tmp_path):
    options = {**LM, "data": str(write_book(tmp_path / "book.txt")), "epochs": 1}
    job = TrainJob(prepared(options).setup, "a cell", "key", model=cell())
    assert job.setup.data.spec == ""
    shutil.rmtree(cache_directory() / job.setup.data.key)
    failed = result(job, tmp_path)
    assert (failed.status, failed.rejected) == ("crashed", True)
    assert f"entry '{job.setup.data.key}'" in failed.reason
    assert "is missing" in failed.reason


def test_data_that_differ_from_those_of_the_submitting_machine_are_refused(tmp_path):
    job = train_job()
    other = DataReference("classify-0123456789abcdef", job.setup.data.spec)
    failed = result(train_job(data=other), tmp_path)
    assert failed.rejected
    assert "are not the same here as where the run was started" in failed.reason
