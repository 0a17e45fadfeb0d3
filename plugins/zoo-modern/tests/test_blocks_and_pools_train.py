"""Every block and pool of this distribution is planned and trained, under every task of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from block_helpers import registry

import zoo

BLOCKS, POOLS = (
    [c.name for c in registry().components(kind) if c.owner.distribution == "zoo-modern"]
    for kind in ("block", "pool")
)
TASKS = {
    "classify": "newswire(train=60,test=30)",
    "lm": "newswire(train=10,test=1)",
    "seq2seq": "copy(train=40,test=10,shortest=2,longest=4)",
}


@pytest.mark.parametrize("task", TASKS)
def test_one_epoch(task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    axes = {"block": ["pre", *BLOCKS]} | ({"pool": ["mean", *POOLS]} if task == "classify" else {})
    table = zoo.bench(
        **axes,
        task=task,
        data=TASKS[task],
        on="inline",
        out=tmp_path / "run",
        design="one-factor",
        phases="train",
        seeds=1,
        baseline="none",
        dim=16,
        heads=2,
        ffn_dim=32,
        layers=2,
        max_length=64 if task == "lm" else 16,
        vocab_size=300,
        epochs=1,
        batch_size=128 if task == "lm" else 16,
        device="cpu",
        threads=1,
    ).details.table.frame
    rows = {row["block"] for _, row in table.iterrows()}
    assert rows >= set(BLOCKS)
    if task == "classify":
        assert {row["pool"] for _, row in table.iterrows()} >= set(POOLS)
    assert set(table["status"]) == {"ok"}, table[["block", "pool", "status"]]
