"""A job is plain data: it can be sent to another machine and holds no path of this one."""

import pickle
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from made_up_costs import MadeUpCosts
from small_runs import CLASSIFY, LM, bench, cell, prepared, write_book, write_corpus

from zoo.data.cache import cache_directory
from zoo.execution.base import Event, Job, Limits, TrainJob
from zoo.execution.local import run_job

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


class Noting(MadeUpCosts):
    """Runs trainings in this process, as they are after a journey, and notes all jobs."""

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
        assert job.setup.plugin_files == (("mine.py", plugin.read_bytes()),)


def test_data_that_the_cache_has_lost_are_said_to_be(tmp_path):
    setup = prepared({**LM, "data": str(write_book(tmp_path / "book.txt")), "epochs": 1}).setup
    shutil.rmtree(cache_directory() / setup.data)
    *_, failed = run_job(TrainJob(setup, "a cell", "key", model=cell()), tmp_path, Limits())
    assert (failed.status, failed.rejected) == ("crashed", True)
    assert f"entry '{setup.data}'" in failed.reason
    assert "is missing; the same command makes it again" in failed.reason
