"""``zoo bench``: train and measure every combination asked for."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.options import Place, load_zoo, plugin_option, print_tracebacks
from zoo.cli.request_options import (
    ON,
    OUTPUT,
    SUITE,
    TRAINING,
    RequestCommand,
    build_request,
    option,
)
from zoo.errors import ZooError
from zoo.registry import AXES

if TYPE_CHECKING:
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
@option(OUTPUT, "--fresh", is_flag=True, help="Run again what is already there.")
@option(OUTPUT, "--collect", is_flag=True, help="Run nothing; show what is already there.")
@option(OUTPUT, "--plan", "plan_only", is_flag=True, help="Print what would run, and stop.")
def bench(
    on: str,
    out: str | None,
    fresh: bool,
    collect: bool,
    plan_only: bool,
    seed: tuple[int, ...],
    **options: Any,
) -> int:
    """Train and measure every combination of the components named, and print a table.

    \b
    zoo bench --attention fused,naive --pe rope,sin
    zoo bench --task lm --data book.txt
    zoo bench --task seq2seq --data reverse
    """
    from zoo.api import write_tables_of
    from zoo.report.run_report import RunReport
    from zoo.report.tables.readable import as_text
    from zoo.sweep.plan import make_plan
    from zoo.sweep.progress import for_stream
    from zoo.sweep.run import run

    if seed and options["seeds"] is not None:
        raise ZooError("--seeds counts seeds from 0, --seed names them: use one of the two")
    if seed:
        options["seeds"] = tuple(dict.fromkeys(seed))
    if fresh and collect:
        raise ZooError("--fresh runs everything again and --collect runs nothing: use one of them")
    loaded = load_zoo()
    request = build_request(options, loaded.registry)
    loaded.registry.choose("executor", on)  # a wrong name is an error of the plan too
    if plan_only:
        _print_plan(make_plan(request, loaded.registry))
        return 0
    with contextlib.closing(for_stream(sys.stderr)) as progress:
        outcome = run(
            request,
            loaded,
            progress,
            on=on,
            out=Path(out) if out else None,
            fresh=fresh,
            collect=collect,
            finished=write_tables_of,
        )
    report = RunReport(outcome.records)
    click.echo("\n".join([as_text(report.table), "", *report.answer, "", *report.notes]))
    print_tracebacks(outcome.failed)
    click.echo(f"Records and tables: {outcome.directory}")
    return 1 if outcome.failed else 0


def _print_plan(plan: Plan) -> None:
    from tabulate import tabulate

    rows = []
    for row in plan.rows:
        names = list(row.model.cell.values()) or [row.name, *[""] * (len(AXES) - 1)]
        rows.append([*names, f"skipped: {row.obstacle}" if row.obstacle else "run"])
    click.echo(tabulate(rows, headers=[*AXES, "plan"], disable_numparse=True))
    running = len(plan.runnable)
    click.echo(f"\n{running} to run, {len(plan.rows) - running} skipped")
