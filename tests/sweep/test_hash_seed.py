"""Two runs with different PYTHONHASHSEED give the same records: one here, one in a new process.

The order of a set, and what ``hash`` gives for a text, differ from process to process. Neither may
decide which texts are made, how they are divided and encoded, the weights that a model begins with
or the key by which its result is found again.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from small_runs import QUICK, TIMES, bench

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


def without_times(value: Any) -> Any:
    """Plain values, less seconds and when a record was made; the order of dicts stays."""
    if isinstance(value, dict):
        left_out = {*TIMES, "started"}
        return [(name, without_times(v)) for name, v in value.items() if name not in left_out]
    return [without_times(one) for one in value] if isinstance(value, list) else value


def run_all() -> None:
    for task, options in RUNS.items():
        bench(Path(task), {**COMMON, **options, "task": task}, plugins=(Path("mine.py"),))


def records(folder: Path, seed: str = "") -> dict[str, list[Any]]:
    """Run to its records; with a folder and a cache of its own. seed: of another process."""
    folder.mkdir()
    (folder / "mine.py").write_text(PLUGIN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZOO_CACHE", str(folder / "cache"))
        patch.chdir(folder)
        if seed:
            own = {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
            program = f"import {__name__}; {__name__}.run_all()"
            subprocess.run([sys.executable, "-c", program], env=os.environ | own, check=True)
        else:
            run_all()
    return {
        task: [without_times(json.loads(line)) for line in (folder / task / "records.jsonl").open()]
        for task in RUNS
    }


def test_records_are_the_same_whatever_the_hash_seed(tmp_path):
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    first, second = records(tmp_path / "here"), records(tmp_path / "there", other)
    assert [len(found) for found in first.values()] == [3, 3]
    assert first == second
