"""The options of an executor are its own: they say where jobs run, and no record has them."""

from __future__ import annotations

import pytest
from pydantic import Field
from refused import refused

from zoo.errors import ZooError
from zoo.execution import choose_executor, executor_options
from zoo.execution.base import ExecutorOptions
from zoo.execution.local import LocalExecutor
from zoo.registry import Owner, Register, Registry


class Options(ExecutorOptions):
    """Of an executor that a plug-in adds."""

    address: str = Field(default="", description="Where.")


class Remote(LocalExecutor):
    """An executor with an option of its own."""

    options = Options

    def __init__(self, address: str = "") -> None:
        self.address = address


@pytest.fixture
def with_remote(registry) -> Registry:
    register = Register(Owner("zoo-remote", "1"))
    register("executor", "remote", Remote, summary="elsewhere", parameters={"address": ""})
    registry.admit(register)
    return registry


def test_an_option_of_another_executor_is_refused_by_name(with_remote):
    assert list(executor_options(with_remote)["address"]) == ["remote"]
    choice = choose_executor(with_remote, "remote", {"address": "head:6379"})
    assert (choice.label, dict(choice.given)) == ("remote", {"address": "head:6379"})
    assert dict(choose_executor(with_remote, "local", {"address": None}).given) == {}
    with pytest.raises(ZooError, match=r"^--address is an option of --on remote, and this is loc"):
        choose_executor(with_remote, "local", {"address": "head:6379"})
    refused(r"^--address 6379: ", choose_executor, with_remote, "remote", {"address": 6379})


def test_an_executor_in_a_package_of_its_own_says_what_to_install(registry):
    refused(r"pip install ./plugins/zoo-ray", choose_executor, registry, "ray", {})
