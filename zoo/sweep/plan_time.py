"""How much work a plan is, and how long it takes on this machine or on a cluster."""

from __future__ import annotations

import contextlib
import math
import statistics
from collections.abc import Sequence
from pathlib import Path

from tabulate import tabulate

from zoo.config.request import Request
from zoo.errors import ZooError
from zoo.execution.cluster.engine import Node
from zoo.sweep.plan import Plan
from zoo.sweep.records import FILE, Record, RecordFile
from zoo.sweep.time_left import about
from zoo.sweep.tune import tuning_trials


def slots_of(node: Node, request: Request) -> int:
    """How many trainings a node does at once; with GPUs one on each, none where it is left out."""
    if node.problem:
        return 0
    threads = min(request.threads or 1, node.cores)
    slots = node.cores // threads
    on_gpu = node.gpus and request.execution.device in ("auto", "cuda")
    return min(slots, node.gpus) if on_gpu else slots


def trainings_of(request: Request, plan: Plan) -> tuple[int, int]:
    """How many models are trained, at most: to choose settings, and with those chosen."""
    trials = sum(1 for _ in tuning_trials(request, plan))
    if "train" not in request.phases:
        return trials, 0
    seeds = request.seeds
    return trials, sum(row.trained_with(s, seeds) for row in plan.runnable for s in seeds)


def past_records(request: Request, runs: Path = Path("runs")) -> list[Record]:
    """The records of trainings with these sizes and settings on these data, in any run there."""
    sizes, training = request.sizes.model_dump(), request.training.model_dump()
    # A file or directory has its own name in records, and the default data one that is not known.
    names = {request.data, Path(request.data).name} if request.data else None
    found: list[Record] = []
    for file in sorted(runs.glob(f"*/{FILE}")):
        with contextlib.suppress(ZooError):  # what cannot be read is no reason not to plan
            found += RecordFile(file.parent).read()
    return [
        record
        for record in found
        if record.task == request.task
        and record.config.get("sizes") == sizes
        and record.config.get("training") == training
        and (names is None or record.config["data"]["name"] in names)
    ]


def time_line(
    request: Request,
    plan: Plan,
    nodes: Sequence[Node] | None,
    records: Sequence[Record],
    at_once: int = 1,
) -> str:
    """How many trainings there are, how many run at once, and how long they take.

    nodes: of a cluster; None: this machine alone, which runs ``at_once`` of them. records: of
    earlier trainings with the same settings, from which the time of one is taken.
    """
    trials, others = trainings_of(request, plan)
    count = trials + others
    text = f"{count} trainings" if count != 1 else "1 training"
    if trials:
        text += f" ({trials} to choose settings)"
    if nodes is not None:
        slots = sum(slots_of(node, request) for node in nodes)
        at_once = min(slots, request.jobs or slots)
    if not at_once:
        return f"{text}, and no node to run them"
    at_once = min(at_once, count) if nodes is None and count else at_once
    turns = math.ceil(count / at_once)
    if at_once > 1:
        text += f", {at_once} at once: the time of {turns} one after another"
    seconds = [r.metrics["seconds"] for r in records if r.kind == "train" and r.status == "ok"]
    if not seconds:
        return (
            f"{text}; how long they take is not known yet: a run says so after its first "
            "steps, and there are no records of such trainings"
        )
    one = statistics.median(seconds)
    known = f"the median of {len(seconds)} records" if len(seconds) > 1 else "one record"
    return f"{text}, {about(turns * one)} at {one:.1f} s each ({known})"


def as_table(nodes: Sequence[Node], request: Request) -> str:
    """Every node with its cores, its GPUs, and how many trainings it does at once, or why none."""
    rows = [
        [
            *(node.name, node.cores, node.gpus, slots_of(node, request)),
            f"left out: {node.problem}" if node.problem else "",
        ]
        for node in nodes
    ]
    return tabulate(rows, headers=["node", "cores", "GPUs", "at once", ""])
