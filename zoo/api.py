"""What ``import zoo`` offers: ``zoo.bench(...)``."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.execution.executor_choice import choose_executor, executor_options
from zoo.registry import loading
from zoo.sweep.make_request import make_requests
from zoo.sweep.progress import Progress, Silent
from zoo.sweep.run import run
from zoo.sweep.run_data_sets import run_data_sets
from zoo.sweep.tracked_progress import TrackedProgress, find_trackers

if TYPE_CHECKING:
    import pandas as pd

    from zoo.config.request import Request
    from zoo.sweep.plan import Plan
    from zoo.sweep.records import Record


def bench(
    attention: str | Sequence[str] = "fused",
    pe: str | Sequence[str] = "rope",
    *,
    task: str | None = None,
    data: str | Path | Sequence[str | Mapping[str, Any]] | None = None,
    on: str = "local",
    out: str | Path | None = None,
    fresh: bool = False,
    collect: bool = False,
    track: str | None = None,
    plugins: str | Path | Sequence[str | Path] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Train and measure every combination; the columns are those of ``table.csv``.

    ``attrs["answer"]`` holds what the table says, in a few sentences.

    attention, pe and the other axes (norm, ffn, block, pool): a name, a comma list or a list. In
    all but the pool, ``a/b`` takes turns over the layers. task: a registered task; by default the
    one that reads the data. data: as for ``--data``, or several: names, or tables with a ``name``
    and options for that data set alone. The result then has one line for each row on each data set.
    on: a registered executor, whose own options, such as the ``address`` of ``ray``, are among the
    others. out: the directory of records and tables, by default one under
    ``runs``. fresh: run again what is already there; collect: run nothing, only read it. plugins:
    single-file plug-ins. progress: where the run reports its progress; by default nowhere. options:
    everything else that ``zoo bench`` takes, with underscores, of which ``lr``, ``weight_decay``
    and ``dropout`` may have several values:
    ``dim=128, epochs=3, seeds=5``. Raises ZooError for bad usage or data; cells that fail are rows
    with their status and reason.
    """
    from zoo.errors import ZooError
    from zoo.inference.initial_model import with_initial_models
    from zoo.report.profile.profile import the_profile
    from zoo.report.profile.profile_answer import profile_answer
    from zoo.report.run_report import RunReport

    if fresh and collect:
        raise ZooError("fresh runs everything again and collect runs nothing: use one of them")
    files = [plugins] if isinstance(plugins, str | Path) else plugins or ()
    paths = [str(file) for file in files]
    loaded = loading.load(paths)
    own = {name: options.pop(name, None) for name in executor_options(loaded.registry)}
    executor = choose_executor(loaded.registry, on, own)
    axes = {"attention": attention, "pe": pe}
    # Those of a data set's own table count before the ones that all share.
    requests = make_requests(
        {}, loaded.registry, {"task": task, "data": data, "plugins": paths, **axes, **options}
    )
    requests = with_initial_models(requests, loaded.registry)
    shared: dict[str, Any] = {
        "on": executor,
        "out": Path(out) if out is not None else None,
        "fresh": fresh,
        "collect": collect,
        "finished": write_tables_of,
        "settled": seeds_settled,
    }
    trackers = find_trackers(track, loaded)
    metric = requests[0].metric
    with contextlib.closing(TrackedProgress(progress or Silent(), trackers)) as tracked:
        if len(requests) == 1:
            outcome = run(requests[0], loaded, tracked, **shared)
            report = RunReport(outcome.records, metric=metric)
            report.table.attrs["answer"] = report.answer
            return report.table
        finished = functools.partial(write_profile_of, metric=metric)
        directory, _ = run_data_sets(
            requests, loaded, tracked, name="data-sets", all_finished=finished, **shared
        )
    profile = the_profile(directory, metric)
    profile.table.attrs["answer"] = profile_answer(profile)
    return profile.table


def seeds_settled(request: Request, records: Sequence[Record]) -> bool:
    """Whether differences of ``request.until`` points are settled by these records."""
    from zoo.report.rows import make_rows
    from zoo.report.stats.effects import judge
    from zoo.report.stats.ratios import find_reference
    from zoo.report.stats.settled import settled

    assert request.until is not None
    rows = make_rows(records, request.metric)
    return settled(rows, request.until, judge(rows, find_reference(rows, request.reference)))


def write_profile_of(directory: Path, metric: str = "") -> None:
    """Write the profile of what has been recorded so far, if anything has."""
    from zoo.report.profile.profile import read_profile
    from zoo.report.profile.write_profile import write_profile

    if profile := read_profile(directory, metric):
        write_profile(profile, directory)


def write_tables_of(plan: Plan, records: Sequence[Record], directory: Path) -> None:
    """Write the tables of what has been recorded; the records themselves are there already."""
    from zoo.report.run_report import RunReport
    from zoo.report.write import write_tables

    if records:
        write_tables(RunReport(records, metric=plan.metric), directory)
