"""``zoo bench``: train and measure every combination asked for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.options import (
    BEAM,
    DATA,
    EXECUTION,
    SIZES,
    SUITE,
    TASK,
    TRAINING,
    WORKER,
    Place,
    asked_for,
    axis_options,
    load_zoo,
    plugin_option,
    shared_options,
)
from zoo.registry import AXES

if TYPE_CHECKING:
    from zoo.sweep.plan import Plan
    from zoo.sweep.run import Outcome


@click.command()
@TASK
@SUITE
@axis_options("components: a comma list, all")
@click.option("--baseline", metavar="NAMES", help="Baselines: a comma list, all, or none.")
@click.option(
    "--design",
    metavar="NAME",
    help="factorial (the default) crosses the axes; one-factor takes the first choice of each and "
    "changes one at a time.",
)
@shared_options(DATA, SIZES, TRAINING)
@click.option("--seeds", type=int, metavar="N", help="Train each cell with seeds 0 to N-1.")
@click.option("--seed", type=int, multiple=True, metavar="S", help="This seed; may be repeated.")
@BEAM
@shared_options(EXECUTION)
@click.option("--phases", metavar="NAMES", help="trials, probes, or both (the default).")
@click.option("--reference", metavar="CELL", help="The cell ratios are to, such as fused+sin.")
@click.option("--jobs", type=int, metavar="N", help="Trials at once; probes are always alone.")
@click.option("--rounds", type=int, metavar="N", help="Rounds of each probe.")
@shared_options(WORKER)
@click.option(
    "--out", metavar="DIR", type=Place(), help="Where records and tables go (default: under runs/)."
)
@click.option("--fresh", is_flag=True, help="Run again what is already there.")
@click.option("--collect", is_flag=True, help="Run nothing; show what is already there.")
@click.option("--plan", "plan_only", is_flag=True, help="Print what would run, and stop.")
@plugin_option
def bench(
    out: str | None,
    fresh: bool,
    collect: bool,
    plan_only: bool,
    seed: tuple[int, ...],
    phases: str | None,
    **options: Any,
) -> int:
    """Train and measure every combination of the components named, and print a table.

    \b
    zoo bench --attention fused,naive --pe rope,sin
    zoo bench --task lm --data book.txt
    zoo bench --task seq2seq --data reverse
    """
    from zoo.api import make_request, write_all
    from zoo.errors import ZooError
    from zoo.sweep.plan import make_plan
    from zoo.sweep.progress import for_stream
    from zoo.sweep.run import run

    asked = asked_for(options)
    if seed and options["seeds"] is not None:
        raise ZooError("--seeds counts seeds from 0, --seed names them: use one of the two")
    if seed:
        asked["seeds"] = tuple(dict.fromkeys(seed))
    if phases is not None:
        asked["phases"] = tuple(part.strip() for part in phases.split(","))
    if fresh and collect:
        raise ZooError("--fresh runs everything again and --collect runs nothing: use one of them")
    request = make_request(asked)
    loaded = load_zoo(request.plugins)
    if plan_only:
        _print_plan(make_plan(request, loaded.registry))
        return 0
    progress = for_stream(sys.stderr)
    try:
        outcome = run(
            request,
            loaded,
            progress,
            out=Path(out) if out else None,
            fresh=fresh,
            collect=collect,
            finished=write_all,
        )
    finally:
        progress.close()
    _print_outcome(outcome)
    return 1 if outcome.failed else 0


def _print_plan(plan: Plan) -> None:
    from tabulate import tabulate

    rows = [
        [*dict(row.subject.cell).values(), f"skipped: {row.obstacle}" if row.obstacle else "run"]
        if row.cell
        else [row.name, *[""] * (len(AXES) - 1), "run"]
        for row in plan.rows
    ]
    click.echo(tabulate(rows, headers=[*AXES, "plan"], disable_numparse=True))
    running = len(plan.runnable)
    click.echo(f"\n{running} to run, {len(plan.rows) - running} skipped")


def _print_outcome(outcome: Outcome) -> None:
    from zoo.report.tables.table import as_text, caption, make_table

    click.echo(as_text(make_table(outcome.records)))
    click.echo(f"\n{caption(outcome.records)}")
    click.echo(f"Records and tables: {outcome.directory}")
