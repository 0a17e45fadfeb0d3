"""``zoo bench`` with peers: trained, measured, and without their libraries."""

import subprocess
import sys
from pathlib import Path

import pytest

PEERS = ("torch-encoder", "x-transformers", "hf-bert")
# Makes the libraries look not installed, in every process that Python starts.
BLOCKED = "import sys\nsys.modules.update({'transformers': None, 'x_transformers': None})\n"


@pytest.fixture
def without_libraries(tmp_path: Path) -> dict[str, str]:
    """The environment of a process for which neither library is installed."""
    folder = tmp_path / "blocked"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(BLOCKED)
    return {"PYTHONPATH": f"{folder}:{Path(__file__).parents[3]}"}


def test_every_peer_is_trained_and_scored(zoo_bench, pretrained):
    known = f"hf-bert(pretrained={str(pretrained)!r})"
    records, done = zoo_bench(
        "--baseline", ",".join([*PEERS, known]), "--phases", "train", "--on", "inline"
    )
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


@pytest.mark.slow
def test_the_cost_of_every_peer_is_measured(zoo_bench):
    records, done = zoo_bench("--baseline", ",".join(PEERS), "--phases", "cost")
    assert done.returncode == 0, done.stderr
    rows = {record["baseline"]: record for record in records}
    for name in PEERS:
        assert (rows[name]["kind"], rows[name]["status"]) == ("cost", "ok"), rows[name]
        for cost in ("train_tokens_per_s", "infer_tokens_per_s", "latency_ms", "peak_memory_mib"):
            assert rows[name]["metrics"][cost] > 0, cost


def test_a_missing_library_costs_its_own_rows(zoo_bench, without_libraries):
    eager = "hf-bert(attn_implementation='eager')"
    names = ",".join([*PEERS, eager])
    records, done = zoo_bench(
        *("--baseline", names, "--phases", "train", "--layers", "1", "--on", "inline"),
        env=without_libraries,
    )
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


def test_listing_and_importing_need_no_library(without_libraries):
    code = (
        "import sys, zoo.registry.loading, zoo_peers\n"
        "from zoo.registry import Owner, Register\n"
        "zoo_peers.zoo_register(register=Register(Owner('x', '1')))\n"
        "found = zoo.registry.loading.load()\n"
        "assert 'torch' not in sys.modules\n"
        "import zoo_peers.encoders\n"
        "print(*found.registry.labels('baseline'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=without_libraries,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert set(PEERS) <= set(done.stdout.split())


def test_a_refused_value_stops_the_run_before_it_starts(zoo_bench, pretrained):
    known = f"hf-bert(pretrained={str(pretrained)!r})"
    records, done = zoo_bench("--baseline", known, "--dim", "16")
    assert (records, done.returncode) == ([], 2)
    line = done.stderr.strip().splitlines()[-1]
    assert "ask for --dim 12 --layers 2 --heads 2 --hidden 20" in line
