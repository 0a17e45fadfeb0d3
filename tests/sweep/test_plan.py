"""Which cells a request comes to."""

from __future__ import annotations

import pytest

from zoo.api import make_request
from zoo.errors import ZooError
from zoo.registry import Registry
from zoo.sweep.plan import make_plan

AXES_ASKED = {
    "attention": "fused,naive",
    "pe": "sin,none,rope",
    "norm": "layer,rms",
    "baseline": "none",
}


def cells(registry: Registry, **options: str) -> list[tuple[str, str, str]]:
    plan = make_plan(make_request({**AXES_ASKED, **options}), registry)
    chosen = [dict(row.subject.cell) for row in plan.rows]
    return [(cell["attention"], cell["pe"], cell["norm"]) for cell in chosen]


def test_a_factorial_design_crosses_the_axes(registry: Registry) -> None:
    found = cells(registry)
    assert len(found) == len(set(found)) == 2 * 3 * 2
    assert found[0] == ("fused", "sin", "layer")


def test_one_factor_at_a_time_changes_the_first_choice_of_each_axis(registry: Registry) -> None:
    assert cells(registry, design="one-factor") == [
        ("fused", "sin", "layer"),
        ("naive", "sin", "layer"),
        ("fused", "none", "layer"),
        ("fused", "rope", "layer"),
        ("fused", "sin", "rms"),
    ]


def test_in_a_one_factor_study_ratios_are_to_what_all_differ_from(registry: Registry) -> None:
    plan = make_plan(make_request({**AXES_ASKED, "design": "one-factor"}), registry)
    assert plan.reference.startswith("fused+sin+layer")


def test_a_design_that_does_not_exist_is_one_line(registry: Registry) -> None:
    with pytest.raises(ZooError, match=r"--design 'latin'.*'factorial' or 'one-factor'"):
        make_request({"design": "latin"})
