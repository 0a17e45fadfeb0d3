"""Two runs with different PYTHONHASHSEED give the same records.

The order of a set, and what ``hash`` gives for a text, differ from process to process. Neither may
decide which texts are made, how they are divided and encoded, the weights that a model begins with
or the key by which its result is found again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from small_runs import ENV, QUICK, TIMES

from zoo.config.request import load_suite
from zoo.registry.loading import load
from zoo.sweep.cost import measure_rows
from zoo.sweep.make_request import make_requests
from zoo.sweep.prepare import open_executor
from zoo.sweep.progress import Progress
from zoo.sweep.records import RecordFile
from zoo.sweep.run import prepare_run

# Words by which documents are divided, numbers of classes, tags of few tokens, a pattern of parts,
# parts with parameters, and two baselines: each is a collection that somebody may put in order.
SUITE = """
attention = "fused/naive"
pe = "rope(base=100.0)"
ffn = "swiglu"
epochs = 1
layers = 2
plugins = "mine.py"

[[data]]
name = "newswire(train=40,test=10)"
baseline = "tfidf-logreg(whole=False),majority"
pool = "mine"
token_deletion = 0.2

[[data]]
name = "recall(train=30,test=10,pairs=4,values=3)"
baseline = "frequent-tag,window-logreg"
"""
PLUGIN = """
from zoo import hookimpl

@hookimpl
def zoo_register(register):
    register("pool", "mine", "zoo.components.pool.pools:Mean", summary="mine")
"""


def written(folder: Path) -> None:
    """What a run takes, in a folder of its own."""
    folder.mkdir()
    (folder / "mine.py").write_text(PLUGIN)
    (folder / "suite.toml").write_text(SUITE)


def carry_out() -> None:
    """The run of the suite in this folder, without tables."""
    zoo = load(["mine.py"])
    given = {n: QUICK[n] for n in ("dim", "heads", "ffn_dim", "threads", "device", "phases")}
    given |= {"seeds": 1, "max_length": 24, "vocab_size": 150}
    requests = make_requests(given, zoo.registry, load_suite("suite.toml"))
    for number, request in enumerate(requests):
        with open_executor(zoo, "inline") as executor:
            prepared = prepare_run(request, zoo, executor, Progress())
            with prepared.open(Path("out") / str(number)) as run:
                measure_rows(run, run.train_rows())


def without_times(value: Any) -> Any:
    """Plain values, less seconds and when a record was made; the order of dicts stays."""
    if isinstance(value, dict):
        left_out = {*TIMES, "started"}
        return [(name, without_times(v)) for name, v in value.items() if name not in left_out]
    return [without_times(one) for one in value] if isinstance(value, list) else value


def records(folder: Path) -> dict[str, list[Any]]:
    return {
        file.parent.name: [
            without_times(record.model_dump(mode="json"))
            for record in RecordFile(file.parent).read()
        ]
        for file in sorted(folder.glob("out/*/records.jsonl"))
    }


def test_records_are_the_same_whatever_the_hash_seed(tmp_path, monkeypatch):
    """One run is in this process. Each has its own cache: nothing is taken from the other."""
    here, there = tmp_path / "here", tmp_path / "there"
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = ENV | {"PYTHONHASHSEED": seed, "ZOO_CACHE": str(there / "cache")}
    script = (
        f"import sys; sys.path[:] = {sys.path}; import test_hash_seed; test_hash_seed.carry_out()"
    )
    written(there)
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=there, env=environment, stderr=subprocess.PIPE
    ) as process:
        written(here)
        monkeypatch.chdir(here)
        monkeypatch.setenv("ZOO_CACHE", str(here / "cache"))
        carry_out()
        _, said = process.communicate(timeout=240)
    assert process.returncode == 0, said.decode()
    first, second = records(here), records(there)
    assert [len(found) for found in first.values()] == [3, 3]
    assert first == second
