"""``zoo bench``: train and measure every combination asked for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.options import (
    ON,
    SUITE,
    Place,
    RequestCommand,
    load_zoo,
    plugin_option,
    requested,
)
from zoo.registry import AXES

if TYPE_CHECKING:
    from zoo.sweep.plan import Plan
    from zoo.sweep.run import Outcome


@click.command(cls=RequestCommand)
@SUITE
@click.option("--seeds", type=int, metavar="N", help="Train each cell with seeds 0 to N-1.")
@click.option("--seed", type=int, multiple=True, metavar="S", help="This seed; may be repeated.")
@ON
@click.option(
    "--out", metavar="DIR", type=Place(), help="Where records and tables go. Default: under runs/."
)
@click.option("--fresh", is_flag=True, help="Run again what is already there.")
@click.option("--collect", is_flag=True, help="Run nothing; show what is already there.")
@click.option("--plan", "plan_only", is_flag=True, help="Print what would run, and stop.")
@plugin_option
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

    Options marked with a task's name belong to that task.
    """
    from zoo.api import write_tables_of
    from zoo.errors import ZooError
    from zoo.sweep.make_request import make_request
    from zoo.sweep.plan import make_plan
    from zoo.sweep.progress import for_stream
    from zoo.sweep.run import run

    asked = requested(options)
    if seed and options["seeds"] is not None:
        raise ZooError("--seeds counts seeds from 0, --seed names them: use one of the two")
    if seed:
        asked["seeds"] = tuple(dict.fromkeys(seed))
    if fresh and collect:
        raise ZooError("--fresh runs everything again and --collect runs nothing: use one of them")
    loaded = load_zoo()
    request = make_request(asked, loaded.registry)
    if plan_only:
        _print_plan(make_plan(request, loaded.registry))
        return 0
    progress = for_stream(sys.stderr)
    try:
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
    finally:
        progress.close()
    _print_outcome(outcome)
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


def _print_outcome(outcome: Outcome) -> None:
    from zoo.report.tables.table import as_text, caption, make_table

    click.echo(as_text(make_table(outcome.records)))
    click.echo(f"\n{caption(outcome.records)}")
    root = click.get_current_context().find_root()
    if root.params.get("debug"):
        for record in outcome.failed:
            if record.traceback:
                seed = "" if record.seed is None else f" seed {record.seed}"
                click.echo(f"\n{record.name}{seed}, {record.status}:\n{record.traceback}", err=True)
    click.echo(f"Records and tables: {outcome.directory}")
