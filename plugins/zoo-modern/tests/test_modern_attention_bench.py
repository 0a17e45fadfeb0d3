"""Every attention here is planned with every encoding, and trained by both kinds of task."""

from __future__ import annotations

from typing import Any

import pytest
from mixers_helpers import CAUSAL_ONLY, NAMES

import zoo
from zoo.registry.loading import load
from zoo.sweep.make_request import make_request
from zoo.sweep.plan import make_plan
from zoo.sweep.records import RecordFile

SIZES = {"dim": 16, "heads": 2, "ffn_dim": 32, "layers": 2, "threads": 1, "device": "cpu"}
OPTIONS = {
    **SIZES,
    "pe": "none",
    "max_length": 24,
    "vocab_size": 300,
    "batch_size": 128,
    "epochs": 1,
    "seeds": (0,),
    "phases": "train",
}
SLOTS = ("rotate", "bias", "content-bias")
BUILT_IN = ("none", "sin", "learned", "rope", "alibi")


@pytest.mark.parametrize(
    ("task", "documents", "metric"),
    [("classify", 60, "accuracy"), ("lm", 10, "nats_per_token")],
)
def test_every_attention_is_trained_and_scored(task, documents, metric, tmp_path, monkeypatch):
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    data = f"newswire(train={documents},test={documents // 10})"
    options: dict[str, Any] = {**OPTIONS, "task": task, "data": data}
    options["attention"] = ",".join(NAMES)
    if task == "classify":
        options["baseline"] = "none"
    out = tmp_path / "out"
    zoo.bench(**options, on="inline", out=out, progress=False)
    found = RecordFile(out).read()
    records = {record.cell["attention"]: record for record in found if record.cell}
    assert list(records) == list(NAMES)
    for name, record in records.items():
        assert record.status == "ok", f"{name}: {record.reason}"
        assert record.bidirectional == (task == "classify" and name in CAUSAL_ONLY)
        assert 0 <= record.metrics[metric] < 1000, name


@pytest.mark.parametrize("task", ["classify", "lm"])
def test_a_plan_has_every_combination_and_why_some_are_left_out(task):
    loaded = load()
    options = {**OPTIONS, "task": task, "data": "newswire", "pe": "all"}
    options["attention"] = ",".join(NAMES)
    rows = make_plan(make_request(options, loaded.registry), loaded.registry).rows
    names = set()
    for row in rows:
        if row.baseline:
            continue
        attention, pe = (
            next(c for c in row.choices if c.component.kind == kind) for kind in ("attention", "pe")
        )
        names.add(attention.component.name)
        if any(pe.can(slot) and not attention.can(slot) for slot in SLOTS):
            assert f"which {pe} needs" in row.skip_reason
        elif pe.component.name in BUILT_IN:  # others may have reasons of their own
            assert row.skip_reason == ""
    assert names == set(NAMES)
