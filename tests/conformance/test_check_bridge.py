"""`zoo.testing` in a plug-in's own tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from zoo.errors import ZooError
from zoo.testing import component_checks, parametrize_with_checks

HERE = Path(__file__).parent
POOLS = HERE / "broken" / "pools.py"
BROKEN = "pool/mean-over-padding"


def named(checks, name: str):
    return next(check for check in checks if check.name == name)


@parametrize_with_checks("pool/mean", "pool/cls")
def test_there_is_one_test_per_check_and_component(check, request: pytest.FixtureRequest) -> None:
    component, _, name = str(check).rpartition(":")
    assert component in ("pool/mean", "pool/cls")
    assert request.node.name.endswith(f"[{component}:{name}]")


def test_a_failing_check_fails_with_numbers_owner_claim_and_command() -> None:
    check = named(component_checks(BROKEN, plugin=POOLS), "padding-invariance")
    with pytest.raises(pytest.fail.Exception) as failure:
        check()
    message = str(failure.value)
    assert "pool/mean-over-padding (pools.py " in message
    assert "off by" in message
    assert "must hold: No other values in padding" in message
    assert f"--plugin {POOLS}" in message


def test_a_check_that_does_not_apply_is_skipped_with_the_reason() -> None:
    with pytest.raises(pytest.skip.Exception, match="it does not declare 'first'"):
        named(component_checks("pool/mean"), "first")()


@pytest.mark.parametrize("key", ["padding-invariance", f"{BROKEN}:padding-invariance"])
def test_an_expected_failure_is_reported_as_such_with_its_reason(key: str) -> None:
    checks = component_checks(BROKEN, plugin=POOLS, expected_failures={key: "it is an example"})
    with pytest.raises(pytest.xfail.Exception, match="it is an example"):
        named(checks, "padding-invariance")()


def test_an_expected_failure_that_passes_fails() -> None:
    checks = component_checks("pool/mean", expected_failures={"padding-invariance": "it leaks"})
    with pytest.raises(
        pytest.fail.Exception, match=r"expected to fail \(it leaks\), but it passed"
    ):
        named(checks, "padding-invariance")()


def test_an_expected_failure_that_is_skipped_fails() -> None:
    checks = component_checks("pool/mean", expected_failures={"first": "it is not first"})
    with pytest.raises(pytest.fail.Exception, match="but it skipped"):
        named(checks, "first")()


@pytest.mark.parametrize("reason", ["", "  ", None])
def test_an_expected_failure_needs_a_reason(reason: str) -> None:
    with pytest.raises(ZooError, match="'first' needs a reason"):
        component_checks("pool/mean", expected_failures={"first": reason})


def test_an_expected_failure_of_an_unknown_check_is_refused() -> None:
    with pytest.raises(ZooError, match="unknown check 'frist'; did you mean"):
        parametrize_with_checks("pool/mean", expected_failures={"frist": "a reason"})


def test_one_components_expected_failure_says_nothing_of_another() -> None:
    checks = component_checks(
        "pool/mean", BROKEN, plugin=POOLS, expected_failures={f"{BROKEN}:reads": "a reason"}
    )
    assert [str(check) for check in checks if check.expected] == [f"{BROKEN}:reads"]


def test_a_file_alone_means_all_that_it_registers() -> None:
    checks = component_checks(plugin=POOLS)
    assert {check.choice.component.owner.distribution for check in checks} == {"pools.py"}


def test_importing_it_imports_neither_torch_nor_pytest() -> None:
    code = "import sys, zoo.testing; print({'torch', 'pytest'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
