"""Known exponents are found, and tables and plot are the same bytes every time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from zoo.errors import ZooError
from zoo.report.plots.curves import scale_plot
from zoo.report.tables.scaling_table import as_text, curves, fit, make_frame
from zoo.report.write import write_scale
from zoo.sweep.records import Record

LENGTHS = [128 * 2**n for n in range(7)]
CELL = {"pe": "rope", "norm": "layer", "ffn": "gelu", "block": "pre", "pool": "mean"}


def record(attention: str, value: int, status: str = "ok", over: str = "length") -> Record:
    power = 2 if attention == "naive" else 1
    cost = 3e-6 * value**power
    metrics = {
        "train_seconds": 3 * cost,
        "infer_seconds": cost,
        "train_memory_mib": 4000 * cost,
        "infer_memory_mib": 3000 * cost,
        "memory_how": "VmHWM",
    }
    return Record(
        kind="scale",
        status=status,
        reason="" if status == "ok" else f"{status}, for a reason",
        cell={"attention": attention, **CELL},
        key=f"{attention}{value}",
        config={
            "task": "classify",
            "task_options": {},
            "over": over,
            "value": value,
            "base": {"dim": 64, "batch": 1},
        },
        metrics=metrics if status == "ok" else {},
        environment={"device_name": "M", "threads": 1, "torch": "2", "precision": "fp32"},
    )


def sweep() -> list[Record]:
    found = [record(a, n) for n in LENGTHS for a in ("fused", "naive")]
    found[-3] = record("naive", LENGTHS[-2], "oom")
    found[-1] = record("naive", LENGTHS[-1], "skipped")
    return found


def test_a_power_plus_a_constant_is_found_on_the_upper_half():
    values = np.array(LENGTHS)
    costs = 5.0 + 1e-4 * values**2
    found = fit(LENGTHS, costs)
    assert found.first == LENGTHS[3]
    assert found.points == 4
    assert found.power == pytest.approx(2, abs=0.06)
    assert found.low < found.power < found.high
    assert fit(LENGTHS[:2], costs[:2]) is None
    assert fit(LENGTHS[:3], costs[:3]).points == 3


def test_memory_below_what_can_be_measured_is_neither_shown_nor_fitted():
    small = [record("fused", n) for n in (32, 64, *LENGTHS)]  # 0.38 and 0.77 MiB, and more
    curve, memory = curves(small)[0], "train_memory_mib"
    assert curve.points(memory)[0] == LENGTHS
    assert curve.points("train_seconds")[0] == [32, 64, *LENGTHS]
    rows = as_text(small).splitlines()
    assert sum("< 1" in row for row in rows if row.startswith("fused")) == 2


def test_the_interval_contains_the_true_power_nineteen_times_in_twenty():
    draw = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        costs = np.array(LENGTHS) ** 1.5 * draw.lognormal(sigma=0.1, size=len(LENGTHS))
        found = fit(LENGTHS, list(costs))
        covered += found.low <= 1.5 <= found.high
    assert 0.92 <= covered / 400 <= 0.98


def test_quadratic_memory_is_distinguished_from_linear():
    powers = {c.name: c.exponent("train_memory_mib").power for c in curves(sweep())}
    assert powers == {"fused": pytest.approx(1), "naive": pytest.approx(2)}


def test_a_failure_is_a_row_of_the_table_and_not_a_point_of_the_curve():
    text, frame = as_text(sweep()), make_frame(sweep())
    assert "oom" in text
    assert "skipped: skipped, for a reason" in text
    assert len(frame) == len(LENGTHS) * 2
    naive = next(c for c in curves(sweep()) if c.name == "naive")
    assert naive.points("train_seconds")[0] == LENGTHS[:-2]
    assert frame[frame.status == "oom"].train_seconds.isna().all()


def test_the_last_record_of_a_point_counts():
    early = record("fused", 128, "timeout")
    found = curves([early, record("fused", 128)])
    assert [r.status for r in found[0].records] == ["ok"]


def test_two_axes_in_one_table_are_refused():
    with pytest.raises(ZooError, match="one axis, got layers, length"):
        curves([record("fused", 128), record("fused", 2, over="layers")])


def test_everything_is_written(tmp_path: Path):
    """That it is the same bytes again is tested with published results, in test_published.py."""
    write_scale(sweep(), tmp_path)
    names = {file.name for file in tmp_path.iterdir()}
    assert names == {"scale.csv", "scale.md", "scale.svg", "scale.png"}


def test_the_plot_describes_every_line():
    plot = scale_plot(sweep())
    assert "length to the power of 2.00" in plot.svg
    assert "failed" in plot.svg
    assert "128" in plot.svg
    assert "mathdefault" not in plot.svg


def test_records_of_several_machines_and_commits_are_told():
    one, other = (record("fused", length) for length in LENGTHS[:2])
    assert "several" not in as_text([one, other])
    git = {"commit": "a" * 40, "dirty": True}
    other = other.model_copy(
        update={
            "environment": {**other.environment, "torch": "3", "git": git},
            "metrics": {**other.metrics, "memory_how": "torch's own count"},
        }
    )
    text = as_text([one, other])
    assert "Made on several machines: M, torch 2, fp32; M, torch 3, fp32." in text
    assert f"Made by several states of the code: version unknown, commit {'a' * 12}+." in text
    assert "Memory: VmHWM or torch's own count, each" in text
