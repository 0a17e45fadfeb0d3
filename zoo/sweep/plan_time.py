"""How much work a plan is, and how long it takes on this machine or on a cluster."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from zoo.config.request import Request
from zoo.errors import counted
from zoo.execution.base import Node
from zoo.sweep.cost import cost_groups, key_of_cost
from zoo.sweep.plan import Fit, Plan, PlanRow, all_fits
from zoo.sweep.progress import about
from zoo.sweep.records import FILE, Record, RecordFile
from zoo.sweep.run import Run
from zoo.sweep.train_rows import key_of_training

LATEST = 20  # runs whose records tell how long work takes
SAMPLE = 8  # records at the beginning and at the end of each that are read


def slots_of(node: Node, request: Request) -> int:
    """How many trainings a node does at once; with GPUs one on each, none where it is left out."""
    if node.problem:
        return 0
    threads = min(request.threads or 1, node.cores)
    slots = node.cores // threads
    on_gpu = node.gpus and request.execution.device in ("auto", "cuda")
    return min(slots, node.gpus) if on_gpu else slots


@dataclass(frozen=True)
class ToDo:
    """What there is to run.

    tuning: trainings that settings are chosen by. trainings: those with the chosen ones. groups:
    how many models each cost measurement has, with the reference and its twin.
    """

    tuning: int = 0
    trainings: int = 0
    groups: tuple[int, ...] = ()


def all_to_do(request: Request, plan: Plan) -> ToDo:
    """Everything that a plan has, at most: nothing of it is known to be there already."""
    return _to_do(request, plan, *all_fits(request, plan), plan.runnable)


def left_to_do(run: Run) -> ToDo:
    """What of a run is not there already; with settings that are still to be chosen, at most."""
    request, plan = run.request, run.plan
    known: Collection[str] = () if run.fresh else run.known
    tuning, trainings = all_fits(request, plan)
    tuning = [fit for fit in tuning if key_of_training(run, fit) not in known]
    rows = plan.runnable
    if not request.tuned:
        trainings = [fit for fit in trainings if key_of_training(run, fit) not in known]
        rows = [row for row in rows if key_of_cost(run, row, request.training) not in known]
    return _to_do(request, plan, tuning, trainings, rows)


def _to_do(
    request: Request,
    plan: Plan,
    tuning: Sequence[Fit],
    trainings: Sequence[Fit],
    rows: Sequence[PlanRow],
) -> ToDo:
    groups = cost_groups(rows if "cost" in request.phases else [], plan.reference)
    return ToDo(len(tuning), len(trainings), tuple(len(group) + 2 for group in groups))


def past_records(out: Path | None = None, runs: Path = Path("runs")) -> list[Record]:
    """Some records of each of the latest runs, and of the one in ``out``."""
    files = {file.resolve() for file in runs.glob(f"*/{FILE}")}
    latest = sorted(files, key=lambda file: file.stat().st_mtime)[-LATEST:]
    own = [(out / FILE).resolve()] if out is not None else []
    found = (RecordFile(f.parent).sample(SAMPLE) for f in dict.fromkeys([*latest, *own]))
    return [record for sample in found for record in sample]


def _alike(record: Record, request: Request) -> bool:
    """Whether it has these sizes and settings, on these data."""
    # A file or directory has its own name in records, and the default data one that is not known.
    names = {request.data, Path(request.data).name} if request.data else None
    return (
        record.task == request.task
        and record.config.get("sizes") == request.sizes.model_dump()
        and record.config.get("training") == request.training.model_dump()
        and (names is None or record.config["data"]["name"] in names)
    )


@dataclass(frozen=True)
class PastTimes:
    """Seconds that a training, and one model of a cost measurement, took in earlier runs."""

    training: Sequence[float] = ()
    cost: Sequence[float] = ()

    @classmethod
    def of(
        cls,
        records: Sequence[Record],
        request: Request,
        on_cluster: bool = False,
        device_name: str = "",
    ) -> PastTimes:
        """Those of the same settings on the same data, made here or, on a cluster, on its nodes.

        device_name: of the processor or GPU that records must have; empty where it is not known.
        Of costs without such records those of any model: the rounds have a bounded time.
        """
        here = [
            record
            for record in records
            if record.status == "ok"
            and ("node" in record.environment) == on_cluster
            and device_name in ("", record.environment.get("device_name"))
        ]
        trained = [record for record in here if record.kind == "train" and _alike(record, request)]
        measured = [record for record in here if record.kind == "cost"]
        own = [record for record in measured if _alike(record, request)]
        return cls(_seconds(trained), _seconds(own) or _seconds(measured))


def _seconds(records: Sequence[Record]) -> list[float]:
    """What each took; records of older costs do not say."""
    found = (record.metrics.get("seconds") for record in records)
    return [float(seconds) for seconds in found if seconds is not None]


def costs_seconds(to_do: ToDo, past: PastTimes, machines: int = 1) -> float | None:
    """How long the cost measurements take, one after another on each machine; None: not known."""
    if not to_do.groups:
        return 0.0
    if not past.cost:
        return None
    turns = math.ceil(len(to_do.groups) / max(1, machines))
    models = sum(sorted(to_do.groups, reverse=True)[:turns])
    return models * statistics.median(past.cost)


def time_lines(
    to_do: ToDo, request: Request, nodes: Sequence[Node] | None, past: PastTimes, at_once: int = 1
) -> list[str]:
    """How much there is to run, how much of it at once, and how long it takes in all.

    nodes: of a cluster; None: this machine alone, which runs ``at_once`` trainings.
    """
    able = None if nodes is None else [slots_of(node, request) for node in nodes]
    slots = at_once if able is None else min(sum(able), request.jobs or sum(able))
    trainings, training_seconds = _trainings(to_do, past, slots, on_cluster=nodes is not None)
    lines = [trainings] if trainings else []
    machines = 1 if able is None else sum(map(bool, able))
    seconds = costs_seconds(to_do, past, machines)
    if to_do.groups:
        models, groups = sum(to_do.groups), len(to_do.groups)
        text = f"{counted(models, 'cost measurement')} in {counted(groups, 'group')}"
        if seconds is None:
            text += "; how long they take is not known yet: there are no records of any here"
        else:
            one = statistics.median(past.cost)
            text += f", {about(seconds)} at {one:.1f} s each ({_known(past.cost)})"
        lines.append(text)
    if len(lines) > 1 and seconds is not None and training_seconds is not None:
        lines.append(f"in all {about(seconds + training_seconds)}")
    return lines


def _trainings(
    to_do: ToDo, past: PastTimes, slots: int, *, on_cluster: bool
) -> tuple[str, float | None]:
    """What is trained, in words, and the seconds that it takes; None: not known."""
    count = to_do.tuning + to_do.trainings
    if not count:
        return "", 0.0
    text = counted(count, "training")
    if to_do.tuning:
        text += f" ({to_do.tuning} to choose settings)"
    if not slots:
        return f"{text}, and no node to run them", None
    at_once = slots if on_cluster else min(slots, count)
    turns = math.ceil(count / at_once)
    if at_once > 1:
        text += f", {at_once} at once: the time of {turns} one after another"
    if not past.training:
        return (
            f"{text}; how long they take is not known yet: a run says so after its first "
            "steps, and there are no records of such trainings"
        ), None
    one = statistics.median(past.training)
    text += f", {about(turns * one)} at {one:.1f} s each ({_known(past.training)})"
    return text, turns * one


def _known(seconds: Sequence[float]) -> str:
    return f"the median of {len(seconds)} records" if len(seconds) > 1 else "one record"


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
