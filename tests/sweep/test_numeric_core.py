"""What jobs import is what their records depend on, or harmless for a reason that is declared.

The order of a set, and what ``hash`` gives for a text, differ from process to process. Neither may
decide which texts are made, how they are divided and encoded, the weights that a model begins with
or the key by which its result is found again.
"""

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from small_runs import CLASSIFY, ENV, QUICK, TIMES, bench, prepared

import zoo
from zoo.data.cache import cache_directory
from zoo.execution.base import CostJob, CostMember, Job, TrainJob
from zoo.sweep.keys import HARMLESS, OF_COSTS
from zoo.sweep.plan import PlanRow
from zoo.sweep.records import Kind
from zoo.sweep.run import PreparedRun

pytestmark = pytest.mark.parts  # twenty seconds, most of them of processes that begin
PACKAGE = Path(zoo.__file__).parent
# An attention that notes, each time that it computes, what its process has imported.
NOTES = """
import os
import sys
from pathlib import Path

from zoo import hookimpl
from zoo.components.attention.fused import Fused


class Notes(Fused):
    def attend(self, *arguments):
        Path(os.environ["NOTES"]).write_text(" ".join(sys.modules))
        return super().attend(*arguments)


@hookimpl
def zoo_register(register):
    register("attention", "notes", Notes, summary="", capabilities=("padding", "rotate", "bias"))
"""
# Each job in a process that has done nothing else.
PROGRAM = """
import os
import pickle
import sys
from pathlib import Path

from zoo.execution.base import Limits, Result
from zoo.execution.process import Worker
from zoo.execution.local import run_job


def carry_out(here):
    for item in run_job(pickle.loads((here / "job").read_bytes()), here, Limits()):
        results = [*item.members, item] if isinstance(item, Result) else []
        assert all(result.status == "ok" for result in results), results
    (here / "modules").write_text(" ".join(sys.modules))


if __name__ == "__main__":
    for here in map(Path, sys.argv[1:]):
        os.environ["NOTES"] = str(here / "notes")
        if here.name == "cost":  # it has processes of its own
            carry_out(here)
            continue
        os.chdir(here)
        with Worker(Limits(), here / "log") as worker:
            if here.name == "seeds":
                worker.call("test_numeric_core:run_all")
            else:
                worker.call("program:carry_out", here)
"""
SMALL = {"data": "newswire(train=24,test=8)", "epochs": 1, "attention": "notes", "baseline": "none"}
PRETRAIN = {"init": "pretrain", "pretrain_epochs": 1, "validation": 0.2}
JOBS: dict[str, tuple[Kind, Mapping[str, Any]]] = {
    "tag": ("train", {**QUICK, "task": "tag", "data": "recall(train=30,test=10,pairs=4,values=3)"}),
    "pretrained": ("train", {**CLASSIFY, **SMALL, **PRETRAIN}),
    "baseline": ("train", {**CLASSIFY, "data": SMALL["data"]}),
    "cost": ("cost", {**CLASSIFY, **SMALL}),
}

# Words by which documents are divided, numbers of classes, tags of few tokens, a pattern of parts,
# parts with parameters, and two baselines: each is a collection that somebody may put in order.
PARTS = {"attention": "fused/naive", "pe": "rope(base=100.0)", "ffn": "swiglu", "layers": 2}
COMMON = {**QUICK, **PARTS, "max_length": 24, "vocab_size": 150}
RUNS: dict[str, dict[str, Any]] = {
    "classify": {
        "data": "newswire(train=40,test=10)",
        "baseline": "tfidf-logreg(whole=False),majority",
        "pool": "mine",
        "token_deletion": 0.2,
    },
    "tag": {
        "data": "recall(train=30,test=10,pairs=4,values=3)",
        "baseline": "frequent-tag,window-logreg",
    },
}
PLUGIN = """
from zoo import hookimpl

@hookimpl
def zoo_register(register):
    register("pool", "mine", "zoo.components.pool.pools:Mean", summary="mine")
"""


def run_all() -> None:
    """Train RUNS in the working directory, with a cache of its own."""
    Path("mine.py").write_text(PLUGIN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZOO_CACHE", str(Path.cwd() / "cache"))
        for task, options in RUNS.items():
            bench(Path(task), {**COMMON, **options, "task": task}, plugins=(Path("mine.py"),))


def job_of(run: PreparedRun, kind: str, row: PlanRow) -> Job:
    if kind == "cost":
        members = (CostMember(row.model),)
        return CostJob(run.setup, "group", "key", members=members, blocks=1)
    return TrainJob(run.setup, "a model", "key", model=row.model)


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> tuple[Path, Mapping[str, PreparedRun]]:
    """What each job is of, once all are done; each has a directory with what it has imported."""
    root = tmp_path_factory.mktemp("jobs")
    plugin = root / "notes.py"
    plugin.write_text(NOTES)
    found = {}
    for name, (kind, options) in JOBS.items():
        (root / name).mkdir()
        found[name] = prepared(options, (plugin,) if options.get("attention") else ())
        job = job_of(found[name], kind, row_of(found[name], name))
        (root / name / "job").write_bytes(pickle.dumps(job))
    program = root / "program.py"
    program.write_text(PROGRAM)
    (root / "seeds").mkdir()
    places = [str(root / name) for name in (*JOBS, "seeds")]
    own = {"PYTHONPATH": os.pathsep.join(sys.path), "ZOO_CACHE": str(cache_directory())}
    own["PYTHONHASHSEED"] = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    subprocess.run([sys.executable, program, *places], env=ENV | own, timeout=480, check=True)
    return root, found


def row_of(run: PreparedRun, name: str) -> PlanRow:
    return run.plan.rows[-1 if name == "baseline" else 0]


@pytest.mark.parametrize("name", JOBS)
def test_what_a_job_imports_counts_or_is_harmless(name, runs):
    root, found = runs
    (kind, _), run = JOBS[name], found[name]
    # Of a cost job the attention's notes are of the process that measures.
    noted = (root / name / "modules", root / name / "notes")
    names = {one for file in noted if file.exists() for one in file.read_text().split()}
    assert "zoo.execution.local" in names
    paths = (one.removeprefix("zoo.").replace(".", "/") + ".py" for one in names if "zoo." in one)
    imported = {path for path in paths if (PACKAGE / path).exists()}  # packages are no files
    code = run.code(kind, row_of(run, name))
    assert "notes.py" in code or name in ("tag", "baseline")
    counted = code.keys() - {"notes.py"}
    harmless = (*HARMLESS, *(OF_COSTS if kind == "train" else ()))
    left = {path for path in imported - counted if not path.startswith(harmless)}
    assert left == set(), "keys.py must say that it counts, or why it is harmless"
    if name != "baseline":  # of which the code of all models of its task counts
        assert counted - imported == set()


def without_times(value: Any) -> Any:
    """Plain values, less seconds and when a record was made; the order of dicts stays."""
    if isinstance(value, dict):
        left_out = {*TIMES, "started"}
        return [(name, without_times(v)) for name, v in value.items() if name not in left_out]
    return [without_times(one) for one in value] if isinstance(value, list) else value


def records(folder: Path) -> dict[str, list[Any]]:
    """Run to its records."""
    files = {task: folder / task / "records.jsonl" for task in RUNS}
    return {
        task: [without_times(json.loads(line)) for line in f.open()] for task, f in files.items()
    }


def test_records_are_the_same_whatever_the_hash_seed(runs, tmp_path, monkeypatch):
    """One run here, one in the new process, which has another."""
    monkeypatch.chdir(tmp_path)
    run_all()
    here, there = records(tmp_path), records(runs[0] / "seeds")
    assert [len(found) for found in here.values()] == [3, 3]
    assert here == there
