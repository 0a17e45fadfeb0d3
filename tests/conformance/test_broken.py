"""Every broken component is caught, by the check that names its fault; every check catches one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from specimens import mutations, run_check

from zoo.conformance.check import checks_of
from zoo.registry import KINDS, Choice
from zoo.registry.loading import load

FILES = [*sorted((Path(__file__).parent / "broken").glob("*.py")), *mutations().values()]
ZOO = load(files=FILES)
OWNERS = {path.name for path in FILES}
BROKEN = [
    component
    for kind in KINDS
    for component in ZOO.registry.components(kind)
    if component.owner.distribution in OWNERS and hasattr(component.factory, "catch")
]


# One of each kind is always tried, all of them after a change to the checker.
FIRST = {component.kind: component for component in reversed(BROKEN)}.values()
MARKED = [pytest.param(c, marks=[pytest.mark.parts] * (c not in FIRST)) for c in BROKEN]


@pytest.mark.parametrize("component", MARKED, ids=lambda c: f"{c.kind}/{c.name}")
def test_a_broken_component_is_caught_by_the_check_that_names_its_fault(component):
    catch = component.factory.catch
    files = [str(path) for path in FILES]
    result = run_check(Choice(component, component.full_name, {}), catch.check, files=files)
    assert result.status == "failed", f"{catch.check} {result.status}: {result.message}"
    assert re.search(catch.says, result.message), result.message


def test_every_check_catches_a_broken_component():
    # One function may be a check of several kinds; catching one specimen of one kind is enough.
    checks = {check for kind in KINDS for check in checks_of(kind).values()}
    catching = {checks_of(c.kind)[c.factory.catch.check] for c in BROKEN}
    assert checks == catching


def test_every_kind_has_its_broken_ones():
    assert {component.kind for component in BROKEN} == set(KINDS)
    assert len(BROKEN) >= 30
