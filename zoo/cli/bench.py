"""``zoo bench``: every combination asked for; ``zoo train``: one model, trained alike and saved."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.options import SEED, json_option, load_zoo, plugin_option, print_json, terminal_width
from zoo.cli.request_options import ON, SUITE, TRACK, RequestCommand
from zoo.config.request import COMPARING
from zoo.errors import ZooError
from zoo.registry import AXES

if TYPE_CHECKING:
    from zoo.config.request import Request
    from zoo.registry.loading import Zoo
    from zoo.sweep.plan import Plan
    from zoo.sweep.records import Record


@click.command(cls=RequestCommand)
@SUITE
@plugin_option
@click.option(
    "--seeds",
    type=int,
    metavar="N",
    help="Train each combination with seeds 0 to N-1.  [default: 3]",
)
@click.option(
    "--seed",
    type=int,
    multiple=True,
    metavar="S",
    help="Train each combination with this seed; may be repeated.",
)
@ON
@click.option(
    "--out", metavar="DIR", help="Where records and tables go.  [default: runs/TASK-DATA-HASH]"
)
@click.option(
    "--against",
    metavar="published|DIR",
    help="Show the rows of the published profile, or of a run, beside these, on streamed data.",
)
@TRACK
@click.option("--plan", "plan_only", is_flag=True, help="Print what would run, and stop.")
@json_option
def bench(
    on: str,
    out: str | None,
    against: str | None,
    track: str | None,
    plan_only: bool,
    as_json: bool,
    seed: tuple[int, ...],
    **options: Any,
) -> int:
    """Train and measure every combination of components, and print a table.

    Streamed diagnostics bring a recipe, six seeds and four rates among it, which 'zoo info
    data/NAME' shows; what you say wins.

    \b
    zoo bench --attention fused,naive --pe rope,sin
    zoo bench --task lm --data book.txt
    """
    from zoo import api
    from zoo.report.write import report_data, report_text
    from zoo.sweep.against import read_against
    from zoo.sweep.progress import Shown
    from zoo.sweep.records import REUSABLE
    from zoo.tracking import trackers_named

    if seed and options["seeds"] is not None:
        raise ZooError("--seeds counts seeds from 0, --seed names them: use one of the two")
    options["seeds"] = tuple(dict.fromkeys(seed)) or options["seeds"]
    zoo = load_zoo()
    requests = api.build_requests(options, zoo.registry)
    if plan_only:  # what the plan does not need is checked all the same
        zoo.registry.choose("executor", on)
        if against is not None:
            read_against(against, requests)
        trackers_named(track, zoo)
        print_plans(requests, zoo, as_json=as_json)
        return 0
    if requests[0].lengths:
        if against or track or len(requests) > 1:
            raise ZooError("several --max-length: one task, and no --against or --track")
        return _measure_lengths(requests[0], zoo, on, Path(out or "runs/lengths"), as_json)
    result = api.bench_requests(
        requests,
        zoo,
        suite=options["suite"],
        on=on,
        out=out,
        against=against,
        track=track,
        progress=Shown(sys.stderr),
    )
    report = result.details
    if as_json:
        print_json(report_data(report, result.directory))
    else:
        click.echo(report_text(report, terminal_width()))
    records = [record for run in result.data_sets.values() for record in run.records]
    failed = [record for record in records if record.status not in REUSABLE]
    _print_tracebacks(failed)
    click.echo(f"Report: {result.report}", err=as_json)
    # A part may refuse a value only when it is built, and then every cell may be skipped.
    done = {record.status == "ok" for record in records if record.cell}
    return 1 if failed or done == {False} else 0


@click.command(cls=RequestCommand, offers=lambda option: option.name not in COMPARING)
@SUITE
@plugin_option
@click.option(
    "--seed",
    type=SEED,
    default=0,
    metavar="S",
    show_default=True,
    help="Of initial weights, dropout and the order of the batches.",
)
@ON
@click.option("--save", metavar="DIR", required=True, help="A new directory for the model.")
@click.option(
    "--from",
    "from_",
    metavar="RUN",
    help="The directory of a run of zoo bench: train the row that its answer names, with the "
    "settings that it had, on all the data.",
)
@click.option("--row", metavar="NAME", default="", help="Another row of RUN: fused+sin.")
@click.option(
    "--all-data", is_flag=True, help="Train on every split, the one that would be scored included."
)
@TRACK
def train(**options: Any) -> None:
    """Train one model and save it, with all that is needed to load it.

    \b
    zoo train --attention fused --pe rope --data newswire --save model
    zoo predict model "the striker scored twice"
    zoo train --task lm --data book.txt --save writer
    zoo generate writer --prompt "It was"
    zoo train --init pretrain --data newswire --save model
    zoo train --from runs/classify-bbc-news-1a2b3c4d --save final

    It is the model that 'zoo bench' scores for the same options and seed. Options of a suite that
    are about comparing several models (seeds, baselines, costs) are ignored.
    """
    from zoo import api
    from zoo.sweep.progress import Shown

    load_zoo()  # what is wrong with a plug-in is said
    card = api.train(**options, progress=Shown(sys.stderr)).card
    score = f"trained on all the data of {card.data['name']}, nothing is left to score it"
    if card.metrics["scored"]:
        scores = (f"{m.label} {m.format(card.metrics[m.name])}" for m in card.metric_descriptions)
        score = f"{', '.join(scores)} on the {card.metrics['scored']} split of {card.data['name']}"
    cost = "{params:,} parameters, trained in {train_seconds:.1f} s".format(**card.metrics)
    click.echo(f"{card.cell}, seed {card.seed}: {score}; {cost}")
    click.echo(f"Model: {options['save']}")


def _print_tracebacks(failed: Sequence[Record]) -> None:
    """With ``zoo --debug``, print the tracebacks of records that failed."""
    debug = click.get_current_context().find_root().params.get("debug")
    for record in failed if debug else ():
        seed = "" if record.seed is None else f" seed {record.seed}"
        click.echo(f"\n{record.name}{seed}, {record.status}:\n{record.traceback}", err=True)


def _measure_lengths(request: Request, zoo: Zoo, on: str, directory: Path, as_json: bool) -> int:
    """Measure costs at several lengths: a row for each, and the powers with which they grow."""
    from zoo.config.places import refuse_unwritable
    from zoo.report.tables.scaling_table import as_text, scale_table
    from zoo.report.write import write_scale
    from zoo.sweep.cost import measure_lengths
    from zoo.sweep.progress import Shown

    refuse_unwritable(directory)
    with contextlib.closing(Shown(sys.stderr)) as progress:
        records = measure_lengths(request, zoo, progress, directory=directory, on=on)
    write_scale(records, directory)
    if as_json:
        click.echo(scale_table(records).to_json(orient="records", indent=2))
    else:
        click.echo(as_text(records))
    click.echo(f"Records, tables and plot: {directory}", err=as_json)
    failed = [record for record in records if record.status == "crashed"]
    _print_tracebacks(failed)
    return 1 if failed else 0


def print_plans(requests: Sequence[Request], zoo: Zoo, *, as_json: bool) -> None:
    """What would run."""
    from tabulate import tabulate

    from zoo.sweep.plan import make_plan

    plans = [(request, make_plan(request, zoo.registry)) for request in requests]
    if as_json:
        print_json([{"data": r.data, "task": r.task, "rows": _plan_rows(p)} for r, p in plans])
        return
    for request, plan in plans:
        rows = _plan_rows(plan)
        if len(requests) > 1:
            click.echo(f"{request.data} (--task {request.task})\n")
        click.echo(tabulate(rows, headers="keys", disable_numparse=True))
        runs = sum(row["plan"].startswith("run") for row in rows)
        click.echo(f"\n{runs} to run, {len(rows) - runs} skipped\n{plan.counts}")


def _plan_rows(plan: Plan) -> list[dict[str, str]]:
    """Every row with its parts, or the baseline, and whether it runs, or why not."""
    rows = []
    for row in plan.rows:
        reason = row.skip_reason
        if not row.trainable and "train" not in plan.request.phases:
            reason = "its fit takes no steps, so it has no cost"
        state = f"run if {row.condition}" if row.condition else "run"
        parts = row.cell_names or {**dict.fromkeys(AXES, ""), AXES[0]: row.name}
        rows.append({**parts, "plan": f"skipped: {reason}" if reason else state})
    return rows
