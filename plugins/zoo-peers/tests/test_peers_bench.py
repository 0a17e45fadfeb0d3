"""``zoo bench`` with peers: trained, measured, and without their libraries."""

import sys
from pathlib import Path

import pytest

from zoo.execution import cost_steps
from zoo.execution.base import CostMember
from zoo.registry import PartSpec
from zoo.registry.loading import load
from zoo.sweep.make_request import make_request
from zoo.sweep.prepare import open_executor
from zoo.sweep.progress import Progress
from zoo.sweep.run import PreparedRun

PEERS = ("torch-encoder", "x-transformers", "hf-bert")
LIBRARIES = ("transformers", "x_transformers")


def test_every_peer_is_trained_and_scored(zoo_bench, pretrained):
    known = f"hf-bert(pretrained={str(pretrained)!r})"
    records, done = zoo_bench("--baseline", ",".join([*PEERS, known]), "--phases", "train")
    assert done.returncode == 0, done.stderr
    rows = {record["baseline"]: record for record in records}
    for name in (*PEERS, known):
        assert rows[name]["status"] == "ok", rows[name]
        assert 0 <= rows[name]["metrics"]["accuracy"] <= 1
        assert [epoch["number"] for epoch in rows[name]["curve"]] == [1, 2]
    # The layers are of one size; word, position and norm parameters differ by the 32 positions of
    # the pretrained model, of width 12, where the run has 16.
    params = {name: row["metrics"]["params"] for name, row in rows.items()}
    assert params[known] - params["hf-bert"] == (32 - 16) * 12


def test_the_cost_of_every_peer_can_be_measured(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The steps of the processes that measure, in this process."""
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path))
    loaded = load()
    options = {"data": str(corpus), "baseline": PEERS, "dim": 12, "heads": 2, "ffn_dim": 20}
    options |= {"layers": 2, "max_length": 16, "vocab_size": 120, "batch_size": 8, "device": "cpu"}
    request = make_request(options, loaded.registry)
    with open_executor(loaded, "inline") as executor:
        setup = PreparedRun(request, loaded, executor, Progress()).setup
    for name in PEERS:
        member = CostMember({"baseline": (PartSpec(name, {}),)})
        known = cost_steps.prepare(setup, 0, member)
        assert known["params"] > 0
        turns = {
            (phase, place): pair
            for phase, place, pair in cost_steps.block(0, [0])
            if pair is not None
        }
        assert list(turns) == [("train", 0), ("infer", 0), ("latency", 0)], name
        assert all(min(pair) > 0 for pair in turns.values()), name
        assert set(cost_steps.memory(setup, member)) == {"training", "inference"}


def test_a_missing_library_costs_its_own_rows(zoo_bench, monkeypatch: pytest.MonkeyPatch):
    for library in LIBRARIES:
        monkeypatch.setitem(sys.modules, library, None)
    eager = "hf-bert(attn_implementation='eager')"
    names = ",".join([*PEERS, eager])
    records, done = zoo_bench("--baseline", names, "--phases", "train", "--set", "layers=1")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    rows = {r["baseline"]: r for r in records if r["baseline"]}
    assert rows["torch-encoder"]["status"] == "ok"
    for name, extra in (("x-transformers", "x"), ("hf-bert", "hf"), (eager, "hf")):
        assert rows[name]["status"] == "crashed"
        reason = rows[name]["reason"]
        assert f"pip install 'zoo-peers[{extra}]'" in reason
        assert "\n" not in reason
    assert any(r["cell"] and r["status"] == "ok" for r in records)


def test_a_row_whose_value_is_refused_is_skipped_with_its_reason(zoo_bench, pretrained):
    known = f"hf-bert(pretrained={str(pretrained)!r})"
    records, _ = zoo_bench("--baseline", known, "--set", "dim=16", "--phases", "train")
    (refused,) = (record for record in records if record["baseline"])
    assert refused["status"] == "skipped"
    assert "of another size: --set dim=12,layers=2,heads=2,ffn_dim=20" in refused["reason"]
