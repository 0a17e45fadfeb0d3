"""The executor of a cluster: places jobs on nodes, carries what they need, and outlives nodes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from pathlib import Path

from zoo.execution.artifacts import Artifacts
from zoo.execution.base import Event, Executor, InspectJob, Job, Limits
from zoo.execution.cluster.cluster_run import ClusterRun, Patience
from zoo.execution.cluster.engine import Joined, Listed, Node
from zoo.execution.cluster.members import DESCRIBE, Members, RemoteEngine


class ClusterExecutor(Executor):
    """Runs jobs on the nodes of an engine; see ``zoo.execution.base.Executor``.

    connect: makes the engine, when it is first needed; it raises ZooError. silence: seconds without
    a sign of life after which a slot is given up. describe: seconds that a node has to describe
    itself, once a slot of it has begun. wait: seconds for a node to come where none is.
    """

    def __init__(
        self,
        connect: Callable[[], RemoteEngine],
        *,
        silence: float = 60.0,
        describe: float = 120.0,
        wait: float = 600.0,
    ) -> None:
        self._connect, self._patience = connect, Patience(silence, describe, wait)
        self._members: Members | None = None
        self._described: object = None

    def cores_note(self) -> str:
        return ""

    def default_limits(self, asked: Limits, trainings: int = 1) -> Limits:
        """One thread for each job; so many jobs at once as there are cores."""
        return replace(asked, threads=asked.threads or 1)

    def connect(self) -> None:
        """Connect now, and not with the first job. Raises ZooError."""
        self._connected()

    def nodes(self) -> list[Node]:
        """The nodes that are there now. Raises ZooError where the engine cannot connect."""
        members = self._connected()
        while not members.listed:
            for report in members.engine.receive(1.0):
                if isinstance(report, Joined):
                    members.join(report.node)
                members.listed |= isinstance(report, Listed)
        return [replace(m.node, name=m.name, problem=m.problem) for m in members]

    def run(self, jobs: Sequence[Job], *, limits: Limits, directory: Path) -> Generator[Event]:
        """Run the jobs wherever there is room. Raises ZooError where no node can."""
        if not jobs:
            return
        members = self._connected()
        needed = jobs[0].setup.code, limits.threads
        if needed != self._described:
            for member in members:
                member.facts, member.begun, member.problem = None, None, ""
                for slot in member.doing(DESCRIBE):  # for other code
                    members.stop(slot)
            self._described = needed
        if not all(isinstance(job, InspectJob) for job in jobs):
            members.engine.log_to(directory)
        with Artifacts(directory) as artifacts:
            run = ClusterRun(members, jobs[0].setup, limits, artifacts, self._patience)
            try:
                yield from run.events(jobs)
            finally:
                run.stop()

    def close(self) -> None:
        """End all slots, and what the engine started."""
        if self._members is not None:
            self._members.engine.close()
            self._members = None

    def _connected(self) -> Members:
        if self._members is None:
            self._members = Members(self._connect())
        return self._members
