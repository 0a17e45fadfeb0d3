"""What a component refuses when it is built is a reason of the plan, and not a crash later."""

from __future__ import annotations

from pathlib import Path

import pytest
from refused import refused
from small_runs import CLASSIFY, bench

from zoo.registry.loading import load
from zoo.sweep.make_request import make_request
from zoo.sweep.plan import make_plan, probe_models, with_refusals

PLUGIN = """
import torch
from torch import nn
from zoo import hookimpl
from zoo.components.attention.split import Split
from zoo.components.block.pre import Pre
from zoo.components.ffn.gelu import GELU


class Thirds(Split):
    def __init__(self, dim, heads, *, dropout=0.0, parts=3):
        super().__init__(dim, heads, dropout=dropout)
        if heads % parts:
            raise ValueError(f"thirds: {heads} heads do not divide into {parts} parts")


class Measured(GELU):
    '''Reads a value when it is built, which no meta tensor has.'''

    def __init__(self, dim, hidden, dropout=0.0):
        super().__init__(dim, hidden, dropout)
        self.scale = float(torch.ones(()).item())


class Broken(GELU):
    def __init__(self, dim, hidden, dropout=0.0):
        raise KeyError("size")


class OfPacked(Pre):
    def __init__(self, attention, ffn, norm, **options):
        super().__init__(attention, ffn, norm, **options)
        if not hasattr(attention, "project"):
            raise ValueError("of-packed: this attention has no projections")


@hookimpl
def zoo_register(register):
    capabilities = ("rotate", "padding", "cross")
    register("attention", "thirds", Thirds, summary="", capabilities=capabilities,
             parameters={"parts": 3})
    register("block", "of-packed", OfPacked, summary="", capabilities=("residual", "cross"))
    register("ffn", "measured", Measured, summary="")
    register("ffn", "broken", Broken, summary="")
"""
OPTIONS = {**CLASSIFY, "data": "newswire(train=40,test=20)", "baseline": "none", "phases": "train"}
REASON = "thirds: 2 heads do not divide into 3 parts"


@pytest.fixture
def plugin(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "thirds.py"
    file.write_text(PLUGIN, "utf-8")
    return file


def test_a_refused_row_is_skipped_with_the_components_reason(plugin, tmp_path):
    options = {**OPTIONS, "attention": "thirds,fused", "ffn": "gelu,measured,broken", "epochs": 1}
    records = bench(tmp_path / "out", options, plugins=(plugin,)).records
    found = {(r.cell["attention"], r.cell["ffn"]): (r.status, r.reason) for r in records}
    status, reason = found.pop(("fused", "broken"))  # what is broken is no refusal
    assert (status, "KeyError: 'size'" in reason) == ("crashed", True)
    assert found == {
        **{("thirds", ffn): ("skipped", REASON) for ffn in ("gelu", "measured", "broken")},
        ("fused", "gelu"): ("ok", ""),
        ("fused", "measured"): ("ok", ""),
    }


def test_a_block_is_tried_with_its_attention(plugin, said):
    options = ["--attention", "fused,torch", "--pe", "none", "--block", "of-packed,pre"]
    words = ["--plan", "--plugin", plugin, "--baseline", "none", "--on", "inline", *options]
    plan = said("bench", *words, "--data", "newswire(train=40,test=20)").out
    rows = [line.split() for line in plan.splitlines()]
    plans = {
        (row[0], row[4]): " ".join(row[6:]) for row in rows if row[:1] in (["fused"], ["torch"])
    }
    assert plans == {
        ("fused", "of-packed"): "run",
        ("fused", "pre"): "run",
        ("torch", "of-packed"): "skipped: of-packed: this attention has no projections",
        ("torch", "pre"): "run",
    }


def test_each_part_is_tried_once_and_the_zoos_own_never(plugin):
    zoo = load((plugin,))

    def trials(**choices: str) -> list[str]:
        request = make_request({**OPTIONS, **choices, "plugins": (str(plugin),)}, zoo.registry)
        return [model.name for model in probe_models(make_plan(request, zoo.registry))]

    assert trials(attention="fused,naive", pe="rope,alibi", ffn="gelu,relu") == []
    assert trials(attention="thirds,fused", pe="rope,none,sin", norm="layer,rms") == [
        "thirds+rope+layer+gelu+pre+mean",
        "fused+none+layer+gelu+pre+mean",
        "fused+none+rms+gelu+pre+mean",
        "thirds+none+layer+gelu+pre+mean",
        "thirds+sin+layer+gelu+pre+mean",
    ]


def test_the_reference_is_a_row_that_can_run_and_none_is_an_error(plugin):
    zoo = load((plugin,))
    options = {**OPTIONS, "plugins": (str(plugin),)}
    request = make_request({**options, "attention": "thirds,fused"}, zoo.registry)
    plan = make_plan(request, zoo.registry)
    reasons = {probe_models(plan)[0].name: REASON}
    assert with_refusals(plan, reasons).reference.startswith("fused+")
    request = make_request({**options, "attention": "thirds"}, zoo.registry)
    plan = make_plan(request, zoo.registry)
    reasons = {probe_models(plan)[0].name: REASON}
    refused(f"nothing can run: {REASON}", with_refusals, plan, reasons)
