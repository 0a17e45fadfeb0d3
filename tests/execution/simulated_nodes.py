"""An engine that starts no process: slots answer at once, and jobs are simulated epoch by epoch."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoo.config.settings import Execution, Training
from zoo.config.sizes import Sizes
from zoo.execution.base import CostJob, InspectJob, Job, JobSetup, Result, Step, TrainJob
from zoo.execution.cluster.cluster_executor import ClusterExecutor
from zoo.execution.cluster.engine import Joined, Left, Listed, Lost, Node, Report, Said
from zoo.execution.cluster.node_facts import Device, Facts, torch_version
from zoo.execution.cluster.slot_work import Advanced, Begun, DataMissing, Finished

EPOCHS = 4
CPU_ONLY = JobSetup("classify", {}, Sizes(), Training(), Execution(device="cpu", precision="fp32"))


def facts(
    python: str | None = None,
    torch: str | None = None,
    wrong_code: str = "",
    machine: str = "a processor",
    **devices: tuple[str, ...],
) -> Facts:
    """Those of a machine like this one, but for what is given. devices: with their precisions."""
    import platform

    described = {
        name: Device(
            precisions,
            {"device": name, "device_name": machine, "precision": precisions[-1], "threads": 1},
        )
        for name, precisions in (devices or {"cpu": ("bf16", "fp32")}).items()
    }
    return Facts(
        python or platform.python_version(), torch or torch_version(), wrong_code, described
    )


@dataclass
class Running:
    """A slot. messages: of the call that it carries out, as they come."""

    node: str
    cores: int
    gpus: int
    messages: Iterator[tuple[str, Any]] | None = None
    job: Job | None = None
    calls: list[str] = field(default_factory=list)


class Simulated:
    """Engine as the submitting process has it. before: called before each look at the slots.

    overlaps: cost jobs that were on a node with others. ran: job key to the epochs that were
    trained for it, of all attempts. undescribed: nodes whose description never ends. caches: node
    to the digests of the data that it has. sent: the nodes that data were sent to.
    """

    def __init__(
        self, before: Callable[[Simulated], None] = lambda engine: None, epochs: int = EPOCHS
    ) -> None:
        self.before, self.epochs = before, epochs
        self.facts: dict[str, Facts] = {}
        self.slots: dict[str, Running] = {}
        self.reports: deque[Report] = deque()
        self.opened: list[tuple[str, int, int]] = []
        self.ran: dict[str, list[int]] = {}
        self.overlaps: set[str] = set()
        self.stalled: set[str] = set()
        self.undescribed: set[str] = set()
        self.caches: dict[str, set[str]] = {}
        self.sent: list[str] = []
        self.ready = False

    def add(self, name: str, cores: int = 1, gpus: int = 0, about: Facts | None = None) -> None:
        self.facts[name] = about or facts()
        self.reports.append(Joined(Node(name, name, cores, gpus)))

    def leave(self, name: str) -> None:
        self.slots = {key: slot for key, slot in self.slots.items() if slot.node != name}
        self.reports.append(Left(name, "its power was cut"))

    def lose(self, key: str, *, out_of_memory: bool = False) -> None:
        """The process of a slot is killed."""
        del self.slots[key]
        self.reports.append(Lost(key, "it was killed", out_of_memory))

    def busy(self, node: str = "") -> list[str]:
        """The slots that run a job."""
        return [k for k, s in self.slots.items() if s.job and s.messages and node in ("", s.node)]

    def start(self, slot: str, node: str, cores: int, gpus: int) -> None:
        self.opened.append((node, cores, gpus))
        self.slots[slot] = Running(node, cores, gpus)

    def call(self, slot: str, call: bytes) -> None:
        name, arguments = pickle.loads(call)
        if slot not in self.slots:
            return
        running = self.slots[slot]
        running.calls.append(name.rpartition(":")[2])
        running.messages = getattr(self, running.calls[-1])(running, *arguments)

    def stop(self, slot: str) -> None:
        self.slots.pop(slot, None)

    def receive(self, seconds: float) -> list[Report]:
        if not self.ready:
            self.ready = True
            self.reports.append(Listed())
        self.before(self)
        for key, slot in list(self.slots.items()):
            if slot.messages is None or slot.node in self.stalled:
                continue
            for message in slot.messages:
                self.reports.append(Said(key, pickle.dumps(message)))
                break
            else:
                slot.messages = None
        found = list(self.reports)
        self.reports.clear()
        return found

    def log_to(self, directory: Path) -> None:
        pass

    def close(self) -> None:
        self.slots.clear()

    def hello(self, slot: Running) -> Iterator[tuple[str, Any]]:
        yield "returned", None

    def describe_node(self, slot: Running, code: object, threads: int) -> Iterator[Any]:
        while slot.node in self.undescribed:
            yield "alive", None
        yield "returned", self.facts[slot.node]

    def store_data(
        self, slot: Running, key: str, digest: str, files: dict[str, bytes]
    ) -> Iterator[tuple[str, Any]]:
        self.sent.append(slot.node)
        yield "alive", None
        self.caches.setdefault(slot.node, set()).add(digest)
        yield "returned", None

    def run(
        self,
        slot: Running,
        job: Job,
        limits: object,
        node: str,
        environment: dict[str, Any],
        files: dict[str, bytes],
        digest: str,
    ) -> Iterator[tuple[str, Any]]:
        if digest and digest not in self.caches.get(slot.node, ()):
            yield "yielded", DataMissing()
            yield "returned", None
            return
        slot.job = job
        there = [s.job for s in self.slots.values() if s.node == slot.node and s.job]
        if len(there) > 1:
            self.overlaps |= {one.key for one in there if isinstance(one, CostJob)}
        yield "yielded", Begun()
        epochs = self.epochs if isinstance(job, TrainJob) else 1
        for epoch in range(int(files.get("checkpoint", b"0")), epochs):
            self.ran.setdefault(job.key, []).append(epoch + 1)
            new = {"checkpoint": str(epoch + 1).encode()} if epoch + 1 < epochs else {}
            yield "yielded", Advanced(Step(epoch + 1, epochs), new)
        yield "yielded", Finished(Result(environment={**environment, "node": node}), {})
        slot.job = None
        yield "returned", None


def executor(engine: Simulated, **options: Any) -> ClusterExecutor:
    return ClusterExecutor(lambda: engine, **options)


def trainings(count: int, setup: JobSetup = CPU_ONLY) -> list[Job]:
    return [TrainJob(setup, f"job {n}", f"key{n}", seed=n) for n in range(count)]


def costs(count: int, setup: JobSetup = CPU_ONLY) -> list[Job]:
    return [CostJob(setup, f"group {n}", f"cost{n}") for n in range(count)]


def inspection(**execution: str) -> InspectJob:
    """The job that resolves device and precision."""
    setup = JobSetup("classify", {}, Sizes(), Training(), Execution.model_validate(execution))
    return InspectJob(setup, "this machine", "inspect")
