"""The options of an executor are its own: they say where jobs run, and no record has them."""

from __future__ import annotations

import socket
import stat
from pathlib import Path
from typing import Any

import pytest
from small_runs import zoo

import zoo as zoo_package
from zoo.errors import ZooError
from zoo.execution.base import Limits
from zoo.execution.cores import own_cores
from zoo.execution.executor_choice import choose_executor, executor_options
from zoo.execution.local import LocalExecutor
from zoo.execution.ray_executor import RayExecutor
from zoo.registry import Registry

ADDRESSES = [
    ("ray://head:10001", "Ray's client protocol"),
    ("head", "give HOST:PORT"),
    ("head:port", "give HOST:PORT"),
    ("head:99999", "give HOST:PORT"),
    ("auto", "give HOST:PORT"),
]


@pytest.fixture(autouse=True)
def _as_if_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray is found; nothing here imports it."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)


def test_an_option_of_another_executor_is_refused_by_name(registry: Registry) -> None:
    assert list(executor_options(registry)["address"]) == ["ray"]
    choice = choose_executor(registry, "ray", {"address": "head:6379"})
    assert (choice.label, dict(choice.given)) == ("ray", {"address": "head:6379"})
    assert set(choice.component.parameters) == set(RayExecutor.options.model_fields)
    assert dict(choose_executor(registry, "local", {"address": None}).given) == {}
    with pytest.raises(ZooError, match=r"^--address is an option of --on ray, and this is local$"):
        choose_executor(registry, "local", {"address": "head:6379"})
    with pytest.raises(ZooError, match=r"^--address 6379: "):
        choose_executor(registry, "ray", {"address": 6379})


@pytest.mark.parametrize(("address", "message"), ADDRESSES)
def test_an_address_is_a_host_and_a_port(
    address: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ZooError, match=f"--address {address}: .*{message}"):
        RayExecutor(address)
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(ZooError, match=message):
        RayExecutor()


def test_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ZooError, match=r"pip install 'encoder-zoo\[ray\]'"):
        RayExecutor()


def test_a_port_where_nobody_listens_is_named() -> None:
    with pytest.raises(ZooError, match=r"--address 127.0.0.1:1: nothing to connect to there"):
        RayExecutor("127.0.0.1:1").nodes()


def test_a_token_that_others_can_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    token.write_text("secret")
    token.chmod(stat.S_IRUSR | stat.S_IRGRP)
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(token))
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ZooError, match="others can read this token of Ray's; chmod 600"):
            RayExecutor(address).nodes()


def test_token_authentication_without_a_token_says_where_one_is_to_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(token))
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ZooError, match=f"no token at {token}: copy the head's ~/.ray/auth_t"):
            RayExecutor(address).nodes()


def test_a_cluster_takes_one_thread_a_job_and_all_its_room_unless_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    ray, local = RayExecutor("head:6379"), LocalExecutor()
    assert ray.default_limits(Limits(0, 0)) == Limits(0, 1)
    assert ray.default_limits(Limits(3, 2, 500, 1.0)) == Limits(3, 2, 500, 1.0)
    cores = own_cores()
    assert local.default_limits(Limits(0, 0)) == Limits(1, cores)
    assert local.default_limits(Limits(2, 0)) == Limits(2, cores)


def test_no_suite_may_say_where_jobs_run(tmp_path: Path) -> None:
    suite = tmp_path / "suite.toml"
    for line in ('address = "head:6379"', 'on = "ray"'):
        suite.write_text(line + "\n")
        done = zoo("bench", "--suite", suite, "--plan")
        assert done.returncode == 2
        assert f"no option '{line.split()[0]}'" in done.stderr


def test_python_takes_the_options_of_an_executor_among_the_others(
    small: dict[str, Any], tmp_path: Path
) -> None:
    """And connects before it looks at the data."""
    options = {**small, "data": "no such data"}
    with pytest.raises(ZooError, match=r"--address 127.0.0.1:1: nothing to connect to there"):
        zoo_package.bench(on="ray", address="127.0.0.1:1", out=tmp_path, **options)
    with pytest.raises(ZooError, match="--address is an option of --on ray, and this is local"):
        zoo_package.bench(address="127.0.0.1:1", out=tmp_path, **small)
