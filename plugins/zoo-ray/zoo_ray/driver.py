"""Ray's driver, in a process of its own: what Ray prints, or dies of, stays there.

``connect`` and ``run`` are called through ``zoo.execution.process.Worker``.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import OutOfMemoryError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from zoo.data.cache import cached_entry
from zoo.errors import ZooError, one_line
from zoo.execution import base
from zoo.execution.base import Artifacts, Event, Job, JobSetup, Limits, Result
from zoo_ray.job import Board, Done, run_job, torch_version, with_environment

LOOK_SECONDS = 0.5  # between two looks at what jobs say, and at the list of nodes
RETRIES = 5  # of a job whose node or process was lost

_cluster: list[Cluster] = []  # that this process is connected to


def connect(address: str) -> None:
    """Connect to HOST:PORT; where that is empty, start a Ray of this machine's own."""
    options = {"address": address} if address else {"include_dashboard": False}
    try:
        ray.init(log_to_driver=False, namespace="zoo", **options)
    except (RuntimeError, ValueError, OSError, RayError) as error:
        join = f"; this machine needs the token, and to join: 'ray start --address={address}'"
        where = f"ray, address {address}" if address else "--on ray"
        raise ZooError(f"{where}: {one_line(error)}{join if address else ''}") from None
    _cluster.append(Cluster())


def run(jobs: Sequence[Job], limits: Limits, directory: Path) -> Iterator[Event]:
    """Run jobs and yield their events; those that need a node for themselves come last."""
    for alone in (False, True):
        chosen = [job for job in jobs if job.alone == alone]
        yield from _cluster[0].run(chosen, limits, Artifacts(directory))


@dataclass(frozen=True)
class Node:
    """A machine of the cluster. cores, gpus: that jobs may use. problem: why it gets no jobs."""

    id: str
    name: str
    cores: int
    gpus: int
    problem: str | None


class Cluster:
    """A cluster, as long as the connection lasts.

    problems: the ids of nodes that are left out, each with the reason. reference: the environment
    of the node that ran the first job; jobs that need a node for themselves run on its like.
    """

    def __init__(self) -> None:
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self.board = ray.remote(Board).options(num_cpus=0, scheduling_strategy=here).remote()
        self.problems: dict[str, str] = {}
        self.reference: Mapping[str, Any] = {}
        self._known: dict[str, Node] = {}  # every node that was ever there, by its id
        self._data: dict[str, Any] = {}
        self._running: dict[Any, Job] = {}  # by the reference to its result
        self._began: dict[str, str] = {}  # key of a running job to its node's id

    def nodes(self) -> list[Node]:
        """The nodes that are there and give cores."""
        nodes: list[Node] = []
        for about in ray.nodes():
            resources, name = about.get("Resources", {}), about.get("NodeName", "")
            if not about["Alive"] or not (cores := int(resources.get("CPU", 0))):
                continue
            if not name or name == about["NodeManagerAddress"]:
                name = about["NodeManagerHostname"]
            gpus, problem = int(resources.get("GPU", 0)), self.problems.get(about["NodeID"])
            nodes.append(Node(about["NodeID"], name, cores, gpus, problem))
        self._known |= {node.id: node for node in nodes}
        return nodes

    def _name(self, node: str) -> str:
        if node not in self._known:  # it has just come
            self.nodes()
        return self._known[node].name if node in self._known else "a node"

    def run(self, jobs: Sequence[Job], limits: Limits, artifacts: Artifacts) -> Iterator[Event]:
        """Run jobs that all need a node for themselves, or none of which does."""
        waiting, looked = deque(jobs), -LOOK_SECONDS
        while waiting or self._running:
            if (now := time.monotonic()) - looked >= LOOK_SECONDS:
                looked, able = now, [node for node in self.nodes() if not node.problem]
                if not able:
                    problems = "; ".join(f"{node.name}: {node.problem}" for node in self.nodes())
                    raise ZooError(f"no node can run this: {problems or 'the cluster has none'}")
                yield from self._heard()
            while able and waiting and self._submit(waiting[0], able, limits):
                waiting.popleft()
            if not self._running:
                time.sleep(LOOK_SECONDS)
                continue
            for reference in ray.wait(list(self._running), timeout=LOOK_SECONDS)[0]:
                yield from self._heard()
                yield from self._ended(reference, waiting, artifacts)

    def _submit(self, job: Job, able: Sequence[Node], limits: Limits) -> bool:
        """Give a job to Ray, which finds a node for it, and another one where that is lost.

        False where Ray has jobs enough: twice what there is room for, so that no node waits.
        """
        largest = max(able, key=lambda node: (node.cores, node.gpus))
        cores, gpus, most = largest.cores, largest.gpus, 0
        if not job.alone:
            device, most = job.setup.execution.device, limits.jobs
            cores = min(limits.threads, largest.cores)
            gpus = int(
                device.startswith("cuda") or (device == "auto" and any(n.gpus for n in able))
            )
        if len(self._running) >= (most or 2 * sum(node.cores // cores for node in able)):
            return False
        out = ",".join(self.problems)
        remote = ray.remote(run_job).options(
            num_cpus=cores,
            num_gpus=gpus,
            max_retries=RETRIES,
            scheduling_strategy="SPREAD",
            label_selector={"ray.io/node-id": f"!in({out})"} if out else None,
        )
        arguments = (
            job,
            limits,
            torch_version(),
            self.reference,
            self._data_of(job.setup),
            self.board,
        )
        self._running[remote.remote(*arguments)] = job
        return True

    def _data_of(self, setup: JobSetup) -> Any:
        """A reference to the files of a setup's data, which Ray is given once; None without."""
        key = setup.data
        if key and key not in self._data:
            files = cached_entry(key).iterdir()
            self._data[key] = ray.put({file.name: file.read_bytes() for file in files})
        return self._data.get(key)

    def _heard(self) -> Iterator[Event]:
        """What running jobs have said."""
        jobs = {job.key: job for job in self._running.values()}
        for key, node, step in ray.get(self.board.heard.remote()):
            if (job := jobs.get(key)) is None:
                continue
            before, self._began[key] = self._began.get(key), node
            if step is not None:
                yield base.Advanced(job, step)
            elif before is None:
                yield base.Started(job, self._name(node))
            else:
                yield base.Notice(f"again: {job.name}: {self._name(before)} was lost")

    def _ended(self, reference: Any, waiting: deque[Job], artifacts: Artifacts) -> Iterator[Event]:
        """A job has ended, or waits again where its node cannot run it."""
        job = self._running.pop(reference)
        began = self._began.pop(job.key, "")
        try:
            done: Done = ray.get(reference)
        except RayTaskError as error:  # such as a node without a zoo
            raise ZooError(f"{job.name}: a node cannot run jobs: {one_line(error)}") from None
        except RayError as error:
            full, reason = isinstance(error, OutOfMemoryError), one_line(error)[:300]
            done = Done(began, Result("oom" if full else "lost", reason))
        node = self._name(done.node)
        if done.unfit:
            waiting.appendleft(job)
            if done.node not in self.problems:
                self.problems[done.node] = done.unfit
                yield base.Notice(f"{node} is left out: {done.unfit}")
            return
        self.reference = self.reference or done.result.environment
        for name, content in done.files.items():
            (artifacts.of(job) / name).write_bytes(content)
        if not began:
            yield base.Started(job, node)
        result = with_environment(done.result, {}, {"node": node})
        yield base.Ended(job, artifacts.with_files(job, result), node)
