"""Ray as an engine: one actor a slot, pinned to its node and never restarted by Ray.

It runs in a process of its own (``cluster.engine_process``), and is the only module that imports
Ray. Core's tasks and actors alone are used.
"""

from __future__ import annotations

import contextlib
import os
import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import ray
from ray._raylet import (
    AuthenticationMode,
    AuthenticationTokenLoader,
    GcsClient,
    get_authentication_mode,
)
from ray.exceptions import (
    ActorUnavailableError,
    AuthenticationError,
    OutOfMemoryError,
    RayError,
)
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from zoo.errors import ZooError, one_line
from zoo.execution.cluster.engine import Engine, Joined, Left, Listed, Lost, Node, Report, Said
from zoo.execution.cluster.slot_calls import carry_out

CHECK_SECONDS = 3.0  # for the head to answer; Ray itself tries for half a minute
LOOK_SECONDS = 1.0  # between two looks at the list of nodes


class Slot:
    """The actor."""

    def carry_out(self, call: bytes) -> Iterator[bytes]:
        yield from carry_out(call)


class RayEngine(Engine):
    """Slots are actors. address: HOST:PORT of a head; empty: a Ray of this machine's own."""

    def __init__(self, report: Callable[[Report], None], scratch: str, address: str) -> None:
        self._report = report
        self._calls: dict[str, queue.SimpleQueue[bytes | None]] = {}
        self._actors: dict[str, Any] = {}
        if address:
            _check(address)
            self._join(address)
        else:
            self._begin(scratch)

    def _begin(self, scratch: str) -> None:
        """Start a Ray that only this machine can reach, and only with its token.

        scratch: a directory that others cannot read; Ray lets everybody write into its own.
        """
        os.environ["TMPDIR"] = scratch  # of its slots, whose files are removed with it
        try:
            ray.init(
                _node_ip_address="127.0.0.1",
                _temp_dir=f"{scratch}/ray",
                include_dashboard=False,
                log_to_driver=False,
                namespace="zoo",
            )
        except OSError as error:
            if "AF_UNIX" not in str(error):
                raise
            raise ZooError(
                f"the path {scratch} is too long for Ray's sockets: set TMPDIR to a directory "
                "whose path is short, such as /tmp"
            ) from None

    def _join(self, address: str) -> None:
        try:
            ray.init(address=address, log_to_driver=False, namespace="zoo")
        except (RuntimeError, ValueError, ConnectionError, RayError) as error:
            raise ZooError(
                f"--address {address}: Ray cannot use this cluster from here: {one_line(error)}. "
                "This machine must be one of its nodes; one that is to do no work joins it by "
                f"'ray start --address={address} --num-cpus=0'"
            ) from None

    def watch(self) -> None:
        there: dict[str, Node] = {}
        self._look(there)
        self._report(Listed())

        def again() -> None:
            while True:
                time.sleep(LOOK_SECONDS)
                with contextlib.suppress(Exception):  # the next look may be luckier
                    self._look(there)

        threading.Thread(target=again, daemon=True).start()

    def _look(self, there: dict[str, Node]) -> None:
        """Report the nodes that came and went. there: those known; it is brought up to date."""
        found = {node.id: node for node in map(_node, ray.nodes()) if node is not None}
        for name in set(there) - set(found):
            del there[name]
            self._report(Left(name, "Ray has no sign of life from it"))
        for name in sorted(set(found) - set(there)):
            there[name] = found[name]
            self._report(Joined(found[name]))

    def start(self, slot: str, node: str, cores: int, gpus: int) -> None:
        actor = ray.remote(Slot).options(
            num_cpus=cores,
            num_gpus=gpus,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
        )
        self._actors[slot] = started = actor.remote()
        calls: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._calls[slot] = calls
        threading.Thread(target=self._carry, args=(slot, started, calls), daemon=True).start()

    def call(self, slot: str, call: bytes) -> None:
        calls = self._calls.get(slot)
        if calls is not None:
            calls.put(call)

    def stop(self, slot: str) -> None:
        actor = self._actors.pop(slot, None)  # by one thread alone: this one, or that of the slot
        if actor is not None:
            self._calls.pop(slot).put(None)
            ray.kill(actor)

    def close(self) -> None:
        for slot in list(self._actors):
            with contextlib.suppress(Exception):  # Ray is ended in any case
                self.stop(slot)
        ray.shutdown()

    def _carry(self, slot: str, actor: Any, calls: queue.SimpleQueue[bytes | None]) -> None:
        """Give a slot its calls, one after another, and report what it says."""
        while (call := calls.get()) is not None:
            try:
                for message in actor.carry_out.options(num_returns="streaming").remote(call):
                    self._report(Said(slot, ray.get(message)))
            except Exception as error:  # noqa: BLE001 - Ray raises more than RayError
                if self._actors.pop(slot, None) is not None:  # it was not stopped
                    self._calls.pop(slot, None)
                    with contextlib.suppress(Exception):
                        ray.kill(actor)  # where it is only out of reach
                    self._report(Lost(slot, _reason(error), isinstance(error, OutOfMemoryError)))
                return


def _check(address: str) -> None:
    """ZooError, soon, where no head of a Ray cluster answers, or its token is not that of here."""
    error = _asked(address)
    token = get_authentication_mode() == AuthenticationMode.TOKEN
    if isinstance(error, AuthenticationError):
        refused = "has another token" if token else "asks for a token: set RAY_AUTH_MODE=token"
        raise ZooError(
            f"--address {address}: this cluster {refused}; copy the head's "
            "~/.ray/auth_token here (readable by you alone), or set RAY_AUTH_TOKEN to its content"
        )
    if isinstance(error, TimeoutError):
        raise ZooError(
            f"--address {address}: what listens there did not answer within {CHECK_SECONDS:g} s: "
            "it is no head of a Ray cluster, or one that is too busy"
        )
    if error is not None:
        raise ZooError(f"--address {address}: what listens there is no head of a Ray cluster")
    if token and _takes_any_token(address):
        raise ZooError(
            f"--address {address}: this cluster has no token, and RAY_AUTH_MODE is token here: its "
            "nodes would lose every job. Start all of them with RAY_AUTH_MODE=token, or set it to "
            "disabled here"
        )


def _asked(address: str) -> BaseException | None:
    """What became of a question to the head; None where it was answered."""
    answers: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

    def ask() -> None:
        try:
            GcsClient(address=address)
            answers.put(None)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
            answers.put(error)

    threading.Thread(target=ask, daemon=True).start()
    try:
        return answers.get(timeout=CHECK_SECONDS)
    except queue.Empty:
        return TimeoutError()


def _takes_any_token(address: str) -> bool:
    """Whether a cluster answers whoever asks."""
    loader, name = AuthenticationTokenLoader.instance(), "RAY_AUTH_TOKEN"
    before = os.environ.get(name)
    os.environ[name] = secrets.token_hex(32)  # comes before any file
    loader.reset_cache()
    try:
        return _asked(address) is None
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before
        loader.reset_cache()


def _node(about: dict[str, Any]) -> Node | None:
    """A node of Ray's list; None where it is gone, or gives no core."""
    resources = about.get("Resources", {})
    cores = int(resources.get("CPU", 0))
    if not about["Alive"] or cores < 1:
        return None
    name, host = about.get("NodeName", ""), about["NodeManagerHostname"]
    own_name = name and name != about["NodeManagerAddress"]
    return Node(about["NodeID"], name if own_name else host, cores, int(resources.get("GPU", 0)))


def _reason(error: Exception) -> str:
    """Why an actor is gone, in one line without the words that Ray puts before it."""
    if isinstance(error, ActorUnavailableError):  # its text is about connections and retries
        return "Ray cannot reach it"
    text = one_line(error)
    for before in ("The actor is dead because ", "Worker exit detail: "):
        text = text.rpartition(before)[2]
    text = text.partition(" Some common causes")[0]
    return text[max(0, text.rfind("ModuleNotFoundError")) :][:300]
