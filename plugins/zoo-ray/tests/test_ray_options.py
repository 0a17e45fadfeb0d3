"""Addresses, tokens and defaults of ``--on ray``. Nothing here starts a Ray."""

from __future__ import annotations

import socket
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from zoo_ray.executor import HTTP2_PREFACE, RayExecutor

import zoo
from zoo.errors import ZooError
from zoo.execution.base import Limits

ADDRESSES = ["ray://head:10001", "head", "head:port", "head:99999", "auto"]


@pytest.fixture(autouse=True)
def _no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAY_ADDRESS", "RAY_AUTH_TOKEN", "RAY_AUTH_MODE", "ZOO_PLUGINS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def head() -> Iterator[str]:
    """The address of something that answers as a Ray head does."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(len(HTTP2_PREFACE))
                connection.sendall(b"\x00\x00\x00\x04\x00\x00\x00\x00\x00")

        threading.Thread(target=answer, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_a_host_and_a_port(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZooError, match=f"ray, address {address}: give HOST:PORT"):
        RayExecutor(address)
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(ZooError, match="give HOST:PORT"):
        RayExecutor()


def test_a_wrong_address_is_refused_in_one_line_within_five_seconds() -> None:
    """A port where nobody listens, one that is silent, and one of another program."""
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        socket.create_server(("127.0.0.1", 0)) as other,
    ):

        def greet() -> None:
            other.accept()[0].sendall(b"220 mail.example.org\r\n")

        threading.Thread(target=greet, daemon=True).start()
        for address, why in (
            ("127.0.0.1:1", "Connection refused"),
            (f"127.0.0.1:{silent.getsockname()[1]}", "no answer"),
            (f"127.0.0.1:{other.getsockname()[1]}", "another program"),
        ):
            begun = time.monotonic()
            with pytest.raises(
                ZooError, match=f"no head of a Ray cluster is there .*{why}"
            ) as told:
                RayExecutor(address).connect()
            assert time.monotonic() - begun < 25  # Ray itself tries for 30 s
            assert "\n" not in str(told.value)


def test_a_token_that_others_can_read_is_refused(
    head: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    token.write_text("secret")
    token.chmod(stat.S_IRUSR | stat.S_IRGRP)
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(token))
    with pytest.raises(ZooError, match="others can read this token of Ray's; chmod 600"):
        RayExecutor(head).connect()


def test_a_cluster_takes_one_thread_a_job_and_all_its_room_unless_asked() -> None:
    ray = RayExecutor("head:6379")
    assert ray.default_limits(Limits(0, 0)) == Limits(0, 1)
    assert ray.default_limits(Limits(3, 2, 1.0)) == Limits(3, 2, 1.0)


def test_it_connects_before_it_looks_at_the_data(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match=r"ray, address 127.0.0.1:1: no head of a Ray cluster is"):
        zoo.bench(on="ray(address='127.0.0.1:1')", out=tmp_path, data="no such data")
