"""How much work a plan is, how long it takes on this machine or on a cluster, and what fits."""

from __future__ import annotations

import bisect
import json
import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tabulate import tabulate

from zoo.config.request import Request
from zoo.errors import ZooError, counted
from zoo.execution.base import Node
from zoo.files import replacing
from zoo.sweep.cost import cost_groups, key_of_cost
from zoo.sweep.keys import digest
from zoo.sweep.plan import Fit, Plan, all_fits
from zoo.sweep.progress import about
from zoo.sweep.records import FILE, Record, RecordFile
from zoo.sweep.run import Run
from zoo.sweep.train_rows import key_of_training

LATEST = 20  # runs whose records tell how long work takes
FITTED = "minutes.json"  # in a run's directory: the seeds that --minutes has trained there
MOST_FITTED = 100  # seeds that --minutes trains; more decide little
COST_SECONDS = 10.0  # of a model, where no record tells: blocks of 0.28 s, and memory by itself
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

    def cost_turns(self, machines: int) -> int:
        """Models that are measured one after another where so many machines share the groups."""
        turns = math.ceil(len(self.groups) / max(1, machines))
        return sum(sorted(self.groups, reverse=True)[:turns])


def all_to_do(request: Request, plan: Plan, run: Run | None = None) -> ToDo:
    """What there is to run of a plan, at most. run: what it has already is left out."""
    tuning, trainings, groups = _work(request, plan, run)
    return ToDo(len(tuning), len(trainings), groups)


def _work(
    request: Request, plan: Plan, run: Run | None
) -> tuple[list[Fit], list[Fit], tuple[int, ...]]:
    """Trainings that choose settings, those with chosen ones, and the sizes of cost groups.

    run: what it has already is left out. As long as settings are to be chosen, that is what it has
    with any of their values.
    """
    tuning, trainings = all_fits(request, plan)
    rows = plan.runnable if "cost" in request.phases else []
    if run is not None and run.known and not run.fresh:
        known, values = run.known, request.trainings()

        def there(fit: Fit) -> bool:
            settings = [fit.training] if fit.training.validation else values
            return any(key_of_training(run, replace(fit, training=t)) in known for t in settings)

        tuning, trainings = ([fit for fit in its if not there(fit)] for its in (tuning, trainings))
        rows = [r for r in rows if not any(key_of_cost(run, r, t) in known for t in values)]
    groups = cost_groups(rows, plan.reference)
    return tuning, trainings, tuple(len(group) + 2 for group in groups)


def past_records(out: Path | None = None, runs: Path = Path("runs")) -> list[Record]:
    """Some records of each of the latest runs, and of the one in ``out``."""
    files = {file.resolve() for file in runs.glob(f"*/{FILE}")}
    latest = sorted(files, key=lambda file: file.stat().st_mtime)[-LATEST:]
    own = [(out / FILE).resolve()] if out is not None else []
    found = (RecordFile(f.parent).sample(SAMPLE) for f in dict.fromkeys([*latest, *own]))
    return [record for sample in found for record in sample]


def _alike(record: Record, request: Request) -> bool:
    """Whether it has these sizes and settings, or one of those to choose from, on these data."""
    # A file or directory has its own name in records, and the default data one that is not known.
    names = {request.data, Path(request.data).name} if request.data else None
    return (
        record.task == request.task
        and record.config.get("sizes") == request.sizes.model_dump()
        and record.config.get("training") in [t.model_dump() for t in request.trainings()]
        and (names is None or record.config["data"]["name"] in names)
    )


@dataclass(frozen=True)
class PastTimes:
    """Seconds that a training, and one model of a cost measurement, took in earlier runs.

    rows: the median of each row's trainings, by its name.
    """

    training: Sequence[float] = ()
    cost: Sequence[float] = ()
    rows: Mapping[str, float] = field(default_factory=dict, compare=False)

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
        of_rows: dict[str, list[Record]] = defaultdict(list)
        for record in trained:
            of_rows[record.name].append(record)
        rows = {name: statistics.median(s) for name, of in of_rows.items() if (s := _seconds(of))}
        return cls(_seconds(trained), _seconds(own) or _seconds(measured), rows)


def _seconds(records: Sequence[Record]) -> list[float]:
    """What each took; records of older costs do not say."""
    found = (record.metrics.get("seconds") for record in records)
    return [float(seconds) for seconds in found if seconds is not None]


def seconds_of(turns: int, past: Sequence[float]) -> float | None:
    """How long so many one after another take; None where it is not known."""
    return turns * statistics.median(past) if past else None if turns else 0.0


def time_lines(
    to_do: ToDo, request: Request, nodes: Sequence[Node] | None, past: PastTimes, at_once: int = 1
) -> list[str]:
    """How much there is to run, how much of it at once, and how long it takes in all.

    nodes: of a cluster; None: this machine alone, which runs ``at_once`` trainings.
    """
    count, groups = to_do.tuning + to_do.trainings, len(to_do.groups)
    slots, machines = _places(request, nodes, min(at_once, count))
    turns = math.ceil(count / slots) if slots else 0
    trainings = counted(count, "training")
    if to_do.tuning:
        trainings += f" ({to_do.tuning} to choose settings)"
    if slots > 1:
        trainings += f", {slots} at once: the time of {turns} one after another"
    lines, known = list[str](), list[float | None]()
    if count:
        lines.append(_timed(trainings, turns, past.training))
        known.append(seconds_of(turns, past.training))
    if count and not slots:
        lines, known = [f"{trainings}, and no node to run them"], [None]
    if groups:
        costs = f"{counted(sum(to_do.groups), 'cost measurement')} in {counted(groups, 'group')}"
        turns = to_do.cost_turns(machines)
        lines.append(_timed(costs, turns, past.cost))
        known.append(seconds_of(turns, past.cost))
    if len(known) > 1 and None not in known:
        lines.append(f"in all {about(sum(filter(None, known)))}")
    return lines


def _places(request: Request, nodes: Sequence[Node] | None, at_once: int) -> tuple[int, int]:
    """How many trainings there are at once, and how many machines measure costs."""
    if nodes is None:
        return at_once, 1
    able = [slots_of(node, request) for node in nodes]
    return min(sum(able), request.jobs or sum(able)), sum(map(bool, able))


def with_fitting_seeds(
    request: Request,
    plan: Plan,
    nodes: Sequence[Node] | None,
    past: PastTimes,
    at_once: int,
    directory: Path | None = None,
    run: Run | None = None,
) -> tuple[Request, str]:
    """The request with as many seeds as fit into its ``minutes``, and a line that says how many.

    There is one at least, and never fewer than every row has already. Without past trainings there
    are no more, and the line says when more is known; without ``minutes`` the line is empty.

    directory: where the same request has its earlier number of seeds. run: what it has already
    takes no time. The rest is as for ``time_lines``.
    """
    if request.minutes is None:
        return request, ""
    most = request.model_copy(update={"seeds": tuple(range(MOST_FITTED))})
    tuning, trainings, groups = _work(most, plan, run)
    there = min((fit.seed for fit in trainings), default=MOST_FITTED)
    least = max(there, request.tuning_seeds if request.tuned else 1)

    def with_seeds(count: int, how: str) -> tuple[Request, str]:
        said = f"--minutes {request.minutes:g}: {counted(count, 'seed')} of each row{how}"
        return request.model_copy(update={"seeds": tuple(range(count))}), said

    if before := fitted_before(request, directory):
        return with_seeds(max(least, before), ", as before")
    if not past.training:
        later = "how many seeds fit is known once every row is trained with one"
        return with_seeds(least, "")[0], f"--minutes {request.minutes:g}: {later}"
    slots, machines = _places(request, nodes, at_once)
    usual, cost = map(statistics.median, (past.training, past.cost or [COST_SECONDS]))
    left = 60 * request.minutes - ToDo(groups=groups).cost_turns(machines) * cost

    def too_long(count: int) -> bool:
        fits = [*tuning, *(fit for fit in trainings if fit.seed < count)]
        return sum(past.rows.get(fit.row.name, usual) for fit in fits) > left * max(1, slots)

    longer = range(least + 1, MOST_FITTED + 1)
    seeds = least + bisect.bisect_left(longer, True, key=too_long)
    return with_seeds(seeds, ", which take longer" if too_long(seeds) else " fit")


def fitted_before(request: Request, directory: Path | None) -> int:
    """How many seeds the same request has had in a run's directory; 0 where it was not there."""
    return _fitted(directory).get(_without_seeds(request), 0) if directory else 0


def keep_fitted(run: Run) -> None:
    """Write how many seeds the request has: the same one has as many again."""
    fitted = {**_fitted(run.directory), _without_seeds(run.request): len(run.request.seeds)}
    text = json.dumps(fitted)
    with replacing(run.directory / FITTED, len(text)) as unfinished:
        unfinished.write_text(text)


def _fitted(directory: Path) -> dict[str, int]:
    file = directory / FITTED
    try:
        return dict(json.loads(file.read_text())) if file.exists() else {}
    except (TypeError, ValueError) as error:
        raise ZooError(f"{file} is damaged; remove it, and the seeds are counted anew") from error


def _without_seeds(request: Request) -> str:
    """What is the same for requests that differ in their seeds alone."""
    return digest(request.model_dump(mode="json", exclude={"seeds"}))


def _timed(work: str, turns: int, past: Sequence[float]) -> str:
    """The work with the time that it takes."""
    if not past:
        return f"{work}; a run says after its first steps how long they take"
    one = statistics.median(past)
    records = f"the median of {len(past)} records" if len(past) > 1 else "one record"
    return f"{work}, {about(turns * one)} at {one:.1f} s each ({records})"


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
