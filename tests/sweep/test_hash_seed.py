"""Two runs with different PYTHONHASHSEED give the same records: one here, one in a new process.

The order of a set, and what ``hash`` gives for a text, differ from process to process. Neither may
decide which texts are made, how they are divided and encoded, the weights that a model begins with
or the key by which its result is found again.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from sandbox import run_zoo
from small_runs import ENV, QUICK, TIMES, flags, zoo

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
lr = 0.003
evaluate_every = 0
"""
PLUGIN = """
from zoo import hookimpl

@hookimpl
def zoo_register(register):
    register("pool", "mine", "zoo.components.pool.pools:Mean", summary="mine")
"""
SIZES = {n: QUICK[n] for n in ("dim", "heads", "ffn_dim", "threads", "device", "phases")}


def without_times(value: Any) -> Any:
    """Plain values, less seconds and when a record was made; the order of dicts stays."""
    if isinstance(value, dict):
        left_out = {*TIMES, "started"}
        return [(name, without_times(v)) for name, v in value.items() if name not in left_out]
    return [without_times(one) for one in value] if isinstance(value, list) else value


def records(folder: Path, seed: str = "") -> dict[str, list[Any]]:
    """Data set to its records; the run has a folder and a cache of its own. seed: of a process."""
    folder.mkdir()
    (folder / "mine.py").write_text(PLUGIN)
    (folder / "suite.toml").write_text(SUITE)
    words = flags({**SIZES, "seeds": 1, "max_length": 24, "vocab_size": 150})
    words = ["bench", *words, "--suite", "suite.toml", "--on", "inline", "--out", "out", "--quiet"]
    cache = {"ZOO_CACHE": str(folder / "cache")}
    with pytest.MonkeyPatch.context() as patch:
        if seed:
            done = zoo(*words, cwd=folder, env=ENV | {"PYTHONHASHSEED": seed} | cache)
        else:
            patch.setenv(*cache.popitem())
            done = run_zoo(*words, plugins="", cwd=folder)
    assert done.returncode == 0, done.stderr
    return {
        file.parent.name: [without_times(json.loads(line)) for line in file.open()]
        for file in sorted(folder.glob("out/*/records.jsonl"))
    }


def test_records_are_the_same_whatever_the_hash_seed(tmp_path):
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    first, second = records(tmp_path / "here"), records(tmp_path / "there", other)
    assert [len(found) for found in first.values()] == [3, 3]
    assert first == second
