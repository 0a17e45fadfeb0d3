"""Peak memory of the members of a cost job, each in a process of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from zoo.execution.base import CostMember, JobSetup, Limits
from zoo.execution.cores import own_cores
from zoo.execution.failures import JobError
from zoo.execution.pool import Call, Done, run_calls

MEMORY = "zoo.execution.cost_steps:memory"


def peaks(
    setup: JobSetup, members: Mapping[int, CostMember], limits: Limits, log: Path
) -> Generator[tuple[int, dict[str, dict[str, Any]] | JobError]]:
    """What ``cost_steps.memory`` finds for each member, or its failure, in any order.

    On the CPU as many run at once as there are cores, each with its share of the threads: the peak
    of a process does not depend on what else runs. One that runs out of memory beside others is
    measured again alone. On other devices one runs at a time.
    """
    at_once = 1
    if members and setup.execution.device == "cpu":
        at_once = min(own_cores(), len(members))
    calls = (Call(place, MEMORY, (setup, member), log) for place, member in members.items())
    own = replace(limits, threads=max(1, limits.threads // at_once))
    with contextlib.closing(run_calls(calls, own, at_once)) as events:
        for call, event in events:
            if isinstance(event, Done):
                yield call.of, event.value
