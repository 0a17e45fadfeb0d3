"""``zoo bench``: train and measure every combination asked for."""

from __future__ import annotations

import contextlib
import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.options import (
    Place,
    load_zoo,
    plugin_option,
    print_json,
    print_tracebacks,
    resumable,
    terminal_width,
)
from zoo.cli.request_help import OUTPUT, TRAINING
from zoo.cli.request_options import (
    ON,
    SUITE,
    TRACK,
    RequestCommand,
    build_requests,
    chosen_executor,
    option,
)
from zoo.errors import ZooError
from zoo.registry import AXES

if TYPE_CHECKING:
    from zoo.config.request import Request
    from zoo.sweep.plan import Plan


@click.command(cls=RequestCommand)
@SUITE
@plugin_option
@option(
    TRAINING,
    "--seeds",
    type=int,
    metavar="N",
    help="Train each cell with seeds 0 to N-1.  [default: 1]",
)
@option(
    TRAINING,
    "--seed",
    type=int,
    multiple=True,
    metavar="S",
    usual=False,
    help="Train each cell with this seed; may be repeated.",
)
@ON
@option(
    OUTPUT,
    "--out",
    metavar="DIR",
    type=Place(),
    help="Where records and tables go.  [default: runs/TASK-DATA-HASH]",
)
@TRACK
@option(OUTPUT, "--fresh", is_flag=True, help="Run again what is already there.")
@option(
    OUTPUT, "--collect", is_flag=True, usual=False, help="Show what is already there; run nothing."
)
@option(OUTPUT, "--plan", "plan_only", is_flag=True, help="Print what would run, and stop.")
@option(OUTPUT, "--wide", is_flag=True, help="Print all columns; not only those that fit.")
@option(OUTPUT, "--json", "as_json", is_flag=True, help="Print JSON; as zoo report --json does.")
@option(OUTPUT, "--quiet", is_flag=True, help="Print only the answer; no progress, no table.")
def bench(
    on: str,
    out: str | None,
    track: str | None,
    fresh: bool,
    collect: bool,
    plan_only: bool,
    wide: bool,
    as_json: bool,
    quiet: bool,
    seed: tuple[int, ...],
    **options: Any,
) -> int:
    """Train and measure every combination of components, and print a table.

    \b
    zoo bench --attention fused,naive --pe rope,sin
    zoo bench --task lm --data book.txt
    """
    from zoo.api import KEEP, write_profile_of, write_tables_of
    from zoo.report.profile import the_profile
    from zoo.report.run_report import RunReport
    from zoo.report.stats.ratios import too_noisy
    from zoo.report.tables.notes import noise_text
    from zoo.report.write import answer_text, report_data, report_text
    from zoo.sweep.plan_time import PastTimes, all_to_do, as_table, past_records, time_lines
    from zoo.sweep.prepare import likely_limits, open_executor
    from zoo.sweep.progress import Silent, for_stream
    from zoo.sweep.run import run
    from zoo.sweep.run_data_sets import run_data_sets
    from zoo.sweep.run_state import tried_plan
    from zoo.sweep.tracked_progress import TrackedProgress, find_trackers

    if seed and options["seeds"] is not None:
        raise ZooError("--seeds counts seeds from 0, --seed names them: use one of the two")
    if seed:
        options["seeds"] = tuple(dict.fromkeys(seed))
    if fresh and collect:
        raise ZooError("--fresh runs everything again and --collect runs nothing: use one of them")
    loaded = load_zoo()
    executor = chosen_executor(on, options, loaded.registry)
    trackers = find_trackers(track, loaded)
    requests = build_requests(options, loaded.registry)
    if plan_only:
        with open_executor(loaded, executor) as opened:
            plans = [tried_plan(request, loaded, opened) for request in requests]
            nodes = opened.nodes()
            at_once = [
                likely_limits(request, plan, opened).jobs
                for request, plan in zip(requests, plans, strict=True)
            ]
        if as_json:
            print_json([_plan_data(r, p) for r, p in zip(requests, plans, strict=True)])
            return 0
        records = past_records(Path(out) if out else None)
        for request, plan, jobs in zip(requests, plans, at_once, strict=True):
            if len(requests) > 1:
                click.echo(f"{request.data} (--task {request.task})\n")
            _print_plan(plan)
            past = PastTimes.of(records, request, nodes is not None)
            to_do = all_to_do(request, plan)
            click.echo("\n".join(time_lines(to_do, request, nodes, past, jobs)))
        if nodes is not None:
            click.echo("\n" + as_table(nodes, requests[0]))
        return 0
    shared: dict[str, Any] = {
        "on": executor,
        "out": Path(out) if out else None,
        "fresh": fresh,
        "collect": collect,
        "finished": write_tables_of,
        "keep": KEEP,
    }
    shown = Silent() if quiet else for_stream(sys.stderr)
    with (
        contextlib.closing(TrackedProgress(shown, trackers)) as progress,
        resumable(lambda: progress.directory, fresh),
    ):
        if len(requests) > 1:
            directory, outcomes = run_data_sets(
                requests,
                loaded,
                progress,
                name=Path(options["suite"]).stem if options["suite"] else "data-sets",
                all_finished=functools.partial(write_profile_of, metric=requests[0].metric),
                **shared,
            )
        else:
            outcomes = [run(requests[0], loaded, progress, **shared)]
            directory = outcomes[0].directory
    failed = [record for outcome in outcomes for record in outcome.failed]
    if len(requests) > 1:
        profile = the_profile(directory, requests[0].metric)
        if as_json:
            print_json(report_data(profile, directory))
        else:
            click.echo(answer_text(profile) if quiet else report_text(profile))
    else:
        report = RunReport(outcomes[0].records, metric=requests[0].metric)
        if outcomes[0].measured and too_noisy(report.noise_floor):
            click.echo(
                "warning: this machine is too busy to compare speeds now: "
                f"{noise_text(report)}; measure again with --phases cost --fresh once it is "
                "quiet",
                err=True,
            )
        if as_json:
            print_json(report_data(report, directory))
        elif quiet:
            click.echo(answer_text(report))
        else:
            click.echo(report_text(report, None if wide else terminal_width()))
    print_tracebacks(failed)
    if not as_json:
        click.echo(f"Records and tables: {directory}")
    return 1 if failed else 0


def _plan_data(request: Request, plan: Plan) -> dict[str, Any]:
    """A plan as plain values. run_if: what the data must have; skipped: why it cannot run."""
    rows = [
        {
            "name": row.name,
            "cell": dict(row.model.cell),
            "baseline": row.model.baseline,
            "run_if": row.condition,
            "skipped": row.obstacle,
        }
        for row in plan.rows
    ]
    return {"data": request.data, "task": request.task, "rows": rows}


def _print_plan(plan: Plan) -> None:
    from tabulate import tabulate

    rows = []
    for row in plan.rows:
        names = list(row.model.cell.values()) or [row.name, *[""] * (len(AXES) - 1)]
        what = f"run if {row.condition}" if row.condition else "run"
        rows.append([*names, f"skipped: {row.obstacle}" if row.obstacle else what])
    click.echo(tabulate(rows, headers=[*AXES, "plan"], disable_numparse=True))
    running, skipped = len(plan.with_data(()).runnable), len(plan.rows) - len(plan.runnable)
    depending = len(plan.runnable) - running
    counts = [f"{running} to run", f"{skipped} skipped"]
    if depending:
        counts.insert(1, f"{depending} if the data have what they need")
    click.echo(f"\n{', '.join(counts)}")
