"""`zoo.testing` in a plug-in's own tests."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from refused import refused
from specimens import mutations

from zoo.conformance import checks_of
from zoo.errors import ZooError
from zoo.testing import ComponentChecks, component_checks, parametrize_with_checks

POOLS = mutations()["pool"]
BROKEN = "pool/mean-over-padding"


def one(component: str, *names: str, **options) -> ComponentChecks:
    """These checks of a component."""
    (found,) = component_checks(component, **options)
    return replace(found, checks=tuple(check for check in found.checks if check.name in names))


@parametrize_with_checks("pool/mean", "pool/cls", without=["compiled"])
def test_there_is_one_test_per_component(check, request):
    assert request.node.name.endswith(f"[{check}]")
    assert str(check) in ("pool/mean", "pool/cls")
    # Those that apply to it, and only those.
    unasked = {"compiled"} if str(check) == "pool/cls" else {"compiled", "first"}
    assert {one.name for one in check.checks} >= set(checks_of("pool")) - unasked - {"residual"}
    assert not {one.name for one in check.checks} & unasked


def test_it_fails_with_the_numbers_owner_claim_and_command_of_each_failed_check():
    checks = one(BROKEN, "padding-invariance", "contract", "large-inputs", "reads", plugin=POOLS)
    with pytest.raises(pytest.fail.Exception) as failure:
        checks()
    message = str(failure.value)
    assert "pool/mean-over-padding (pool.py " in message
    assert "1 of 4 checks failed" in message
    assert "padding-invariance: 6 tokens" in message
    assert "off by" in message
    assert "must hold: No other values in padding" in message
    assert f"--only padding-invariance --plugin {POOLS}" in message


def test_a_component_to_which_no_check_applies_is_no_test():
    (found,) = component_checks("pool/mean", "pool/cls", only=["first"])
    assert list(map(str, found.checks)) == ["pool/cls:first"]


def test_every_failed_check_is_named():
    checks = one("pool/divides-by-nothing", "empty-documents", "assembles", plugin=POOLS)
    with pytest.raises(pytest.fail.Exception, match=r"2 of 2(.|\n)*empty-doc(.|\n)*assembles: "):
        checks()


def test_where_nothing_is_checked_the_test_is_skipped_with_the_reason():
    with pytest.raises(pytest.skip.Exception, match="it has no numeric parameter"):
        one("pool/mean", "parameters-act")()


@pytest.mark.parametrize("key", ["padding-invariance", f"{BROKEN}:padding-invariance"])
def test_an_expected_failure_is_reported_as_such_with_its_reason(key):
    expected = {key: "it is an example"}
    checks = one(BROKEN, "reads", "padding-invariance", plugin=POOLS, expected_failures=expected)
    with pytest.raises(pytest.xfail.Exception, match=r"padding-invariance: it is an example"):
        checks()


@pytest.mark.parametrize(
    ("name", "but"), [("padding-invariance", "it passed"), ("first", "it skipped")]
)
def test_an_expected_failure_that_does_not_fail_is_one(name, but):
    checks = one("pool/mean", name, expected_failures={name: "it leaks"})
    with pytest.raises(pytest.fail.Exception, match=rf"expected to fail \(it leaks\), but {but}"):
        checks()


@pytest.mark.parametrize("reason", ["", "  ", None])
def test_an_expected_failure_needs_a_reason(reason):
    with pytest.raises(ZooError, match="'first' needs a reason"):
        component_checks("pool/mean", expected_failures={"first": reason})


def test_unknown_checks_and_distributions_are_refused():
    with pytest.raises(ZooError, match="unknown check 'frist'; did you mean"):
        parametrize_with_checks("pool/mean", expected_failures={"frist": "a reason"})
    with pytest.raises(ZooError, match="no check 'frist'; did you mean"):
        parametrize_with_checks("pool/mean", without=["frist"])
    refused("no check 'causality'", component_checks, "pool/mean", only=["causality"])
    refused("registers nothing", component_checks, distribution="no-such-distribution")


def test_one_components_expected_failure_says_nothing_of_another():
    found = component_checks(
        "pool/mean", BROKEN, plugin=POOLS, expected_failures={f"{BROKEN}:reads": "a reason"}
    )
    checks = [check for of_one in found for check in of_one.checks]
    assert [str(check) for check in checks if check.expected] == [f"{BROKEN}:reads"]


def test_a_file_alone_means_all_that_it_registers():
    checks = [check for of_one in component_checks(plugin=POOLS) for check in of_one.checks]
    assert {check.choice.component.owner.distribution for check in checks} == {"pool.py"}


def test_importing_it_imports_neither_torch_nor_pytest():
    code = "import sys, zoo.testing; print({'torch', 'pytest'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
