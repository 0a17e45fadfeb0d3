"""Known exponents are found, and tables and plot are the same bytes every time."""

import re

import numpy as np
import pytest
from example import LENGTHS, scale_record, scale_sweep
from scipy import stats

from zoo.report.tables.scaling_table import as_text, fit, powers, scale_table


def test_a_power_plus_a_constant_is_found_on_the_upper_half():
    values = np.array(LENGTHS)
    costs = 5.0 + 1e-4 * values**2
    exponent = fit(LENGTHS, costs)
    assert exponent.mean == pytest.approx(2, abs=0.06)
    line = stats.linregress(np.log(values[3:]), np.log(costs[3:]))
    half = stats.t.ppf(0.975, 2) * line.stderr
    assert (exponent.low, exponent.high) == pytest.approx((line.slope - half, line.slope + half))
    assert fit(LENGTHS[:2], costs[:2]) is None
    assert fit(LENGTHS[:3], costs[:3]) == fit(LENGTHS[:3][::-1], costs[:3][::-1])


def test_memory_below_what_can_be_measured_is_neither_shown_nor_fitted():
    small = [scale_record("fused", n) for n in (32, 64, *LENGTHS)]  # 0.38 and 0.77 MiB, and more
    table = scale_table(small)
    assert table.length[table.train_memory_mib.notna()].tolist() == LENGTHS
    assert table.length[table.train_seconds.notna()].tolist() == [32, 64, *LENGTHS]


def test_quadratic_memory_is_distinguished_from_linear():
    memory = {name: of["train_memory_mib"] for name, of in powers(scale_sweep()).items()}
    assert memory == {"fused": "1.00 ± 0.00", "naive": "2.00 ± 0.00"}


def test_a_failure_is_a_row_of_the_table_and_not_a_point_of_the_curve():
    text, frame = as_text(scale_sweep()), scale_table(scale_sweep())
    assert "oom" in text
    assert "skipped, for a reason" in text
    assert len(frame) == len(LENGTHS) * 2
    assert frame[frame.status == "oom"].train_seconds.isna().all()


def test_what_a_table_in_markdown_holds_is_no_markup():
    failed = scale_record("fused", 256, "oom").model_copy(update={"reason": "a | b"})
    environment = {"device_name": "A | B"}
    first = scale_record("fused", 128).model_copy(update={"environment": environment})
    text = as_text([first, failed], "github")
    rows = [re.sub(r"\\\|", "", line) for line in text.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {9, 6}
    assert "Machine: A \\| B." in text


def test_the_last_record_of_a_point_counts():
    early = scale_record("fused", 128, "timeout")
    assert list(scale_table([early, scale_record("fused", 128)]).status) == ["ok"]


def test_records_of_several_machines_and_states_of_the_code_are_told():
    first, other = (scale_record("fused", length) for length in LENGTHS[:2])
    assert "several" not in as_text([first, other])
    other = other.model_copy(
        update={
            "environment": {**other.environment, "torch": "3"},
            "code": {"measure/timing.py": "12345678"},
            "metrics": {**other.metrics, "memory_how": "torch's own count"},
        }
    )
    text = as_text([first, other])
    assert "Made on several machines: M, torch 2, fp32; M, torch 3, fp32." in text
    assert "Memory: VmHWM or torch's own count, each" in text
