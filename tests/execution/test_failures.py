"""Whatever goes wrong in a cell is that cell's row, and nobody else's."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from sweeps import TINY

from zoo.cli import main
from zoo.sweep.records import RecordFile

FAILING = Path(__file__).with_name("failing.py")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, corpus_directory: Path) -> Path:
    out = tmp_path_factory.mktemp("failures")
    names = "raises,exits,segfaults,hangs,hungry,diverges,fused"
    status = main(
        f"bench --plugin {FAILING} --attention {names} --pe sin --data {corpus_directory} "
        f"--timeout 15 --memory-limit 6000 --phases trials --baseline none --out {out} "
        f"{' '.join(TINY)}".split()
    )
    assert status == 1
    return out


@pytest.mark.parametrize(
    ("attention", "status", "reason"),
    [
        ("raises", "crashed", "RuntimeError: no such luck (failing.py:"),
        ("exits", "crashed", "the worker exited with status 7"),
        ("segfaults", "crashed", "the worker was killed by SIGSEGV"),
        ("hangs", "timeout", "took longer than 15 s"),
        ("hungry", "oom", "out of memory"),
        ("diverges", "diverged", "the loss became nan in epoch 1"),
        ("fused", "ok", ""),
    ],
)
def test_each_failure_is_a_row_with_its_reason(
    finished: Path, attention: str, status: str, reason: str
):
    table = pd.read_csv(finished / "table.csv", keep_default_na=False)
    row = table[table.attention == attention].iloc[0]
    assert row.status == status
    assert reason in row.reason


def test_the_records_name_the_file_a_component_came_from(finished: Path):
    records = RecordFile(finished).read()
    assert all("failing.py" in r.plugins for r in records if r.cell["attention"] != "fused")
    assert all(r.plugins == {} for r in records if r.cell["attention"] == "fused")


def test_a_probe_that_fails_is_a_row_too(tmp_path: Path, tiny: list[str]):
    arguments = ["bench", "--plugin", str(FAILING), "--attention", "fused,exits", "--pe", "sin"]
    status = main(
        [*arguments, *tiny, "--phases", "probes", "--baseline", "none", "--out", str(tmp_path)]
    )
    assert status == 1
    table = pd.read_csv(tmp_path / "table.csv", keep_default_na=False).set_index("attention")
    assert table.status["fused"] == "ok"
    assert table.status["exits"] == "crashed"
    assert table.reason["exits"].startswith("probe: the worker exited")
    assert float(table.train_tokens_per_s["fused"]) > 0


def test_a_reference_that_fails_leaves_the_others_measured(tmp_path: Path, tiny: list[str]):
    arguments = ["bench", "--plugin", str(FAILING), "--attention", "exits,fused", "--pe", "sin"]
    assert main([*arguments, *tiny, "--phases", "probes", "--out", str(tmp_path)]) == 1
    table = pd.read_csv(tmp_path / "table.csv", keep_default_na=False).set_index("attention")
    assert table.status.to_dict() == {"fused": "ok", "exits": "crashed", "tfidf-logreg": "ok"}
    assert float(table.train_tokens_per_s["fused"]) > 0
    assert table.train_ratio["fused"] == ""
