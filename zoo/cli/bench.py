"""``zoo bench``: train and measure every combination asked for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.options import load_zoo, plugin_option
from zoo.registry import AXES

if TYPE_CHECKING:
    from zoo.harness.plan import Plan
    from zoo.harness.run import Outcome


def _axes(command: Any) -> Any:
    for axis in reversed((*AXES, "baseline")):
        what = "Baselines" if axis == "baseline" else f"{axis.capitalize()} components"
        none = ", or none" if axis == "baseline" else ""
        command = click.option(
            f"--{axis}", metavar="NAMES", help=f"{what}: a comma list, all{none}."
        )(command)
    return command


@click.command()
@click.option("--suite", metavar="FILE", help="A TOML file of options; those given here win.")
@_axes
@click.option("--data", metavar="SPEC", help="bbc-news, newswire, a path, or hub:owner/name.")
@click.option("--text-column", metavar="NAME", help="Column of the texts (default: text).")
@click.option("--label-column", metavar="NAME", help="Column of the labels (default: label).")
@click.option(
    "--keep-duplicates/--drop-duplicates",
    default=None,
    help="Whether to train on documents that also stand in the test split.",
)
@click.option("--dim", type=int, help="Width of the model.")
@click.option("--layers", type=int, help="Number of blocks.")
@click.option("--heads", type=int, help="Attention heads.")
@click.option("--hidden", type=int, help="Inner width of the feed-forward networks.")
@click.option("--head-hidden", type=int, help="Width of the head's own layer; 0 for none.")
@click.option("--max-length", type=int, help="Tokens per text; what is beyond is cut off.")
@click.option("--vocab-size", type=int, help="Entries of the word-piece vocabulary.")
@click.option("--epochs", type=int, help="Passes over the training split.")
@click.option("--batch-size", type=int, help="Documents per step.")
@click.option("--lr", type=float, help="Peak learning rate.")
@click.option("--weight-decay", type=float, help="AdamW's weight decay.")
@click.option("--dropout", type=float, help="Share of values dropped while training.")
@click.option("--attention-dropout", type=float, help="Share of attention weights dropped.")
@click.option("--token-dropout", type=float, help="Share of tokens hidden while training.")
@click.option("--label-smoothing", type=float, help="Share of the target spread evenly.")
@click.option("--schedule", metavar="NAME", help="linear, cosine or constant.")
@click.option("--warmup", type=float, help="Share of all steps over which the rate rises.")
@click.option("--clip", type=float, help="Greatest gradient norm; 0 for no clipping.")
@click.option(
    "--validation", type=float, help="Score this share of the training split, not the test split."
)
@click.option("--seeds", type=int, metavar="N", help="Train each cell with seeds 0 to N-1.")
@click.option("--seed", type=int, multiple=True, metavar="S", help="This seed; may be repeated.")
@click.option("--device", metavar="NAME", help="auto, cpu, cuda or mps.")
@click.option("--precision", metavar="NAME", help="auto, fp32 or bf16.")
@click.option("--compile/--no-compile", "compile_", default=None, help="Use torch.compile.")
@click.option(
    "--full-attention",
    is_flag=True,
    help="Compute every position in the last layer, also those that the pool does not read.",
)
@click.option("--phases", metavar="NAMES", help="trials, probes, or both (the default).")
@click.option("--reference", metavar="CELL", help="The cell ratios are to, such as fused+sin.")
@click.option("--jobs", type=int, metavar="N", help="Trials at once; probes are always alone.")
@click.option("--threads", type=int, metavar="N", help="Threads of one worker; 0: all cores.")
@click.option("--rounds", type=int, metavar="N", help="Rounds of each probe.")
@click.option("--timeout", type=float, metavar="SECONDS", help="The most that one trial may take.")
@click.option("--memory-limit", type=int, metavar="MIB", help="The most one worker may hold.")
@click.option("--out", metavar="DIR", help="Where records and tables go (default: under runs/).")
@click.option("--fresh", is_flag=True, help="Run again what is already there.")
@click.option("--collect", is_flag=True, help="Run nothing; show what is already there.")
@click.option("--plan", "plan_only", is_flag=True, help="Print what would run, and stop.")
@plugin_option
def bench(
    out: str | None,
    fresh: bool,
    collect: bool,
    plan_only: bool,
    compile_: bool | None,
    full_attention: bool,
    seed: tuple[int, ...],
    phases: str | None,
    suite: str | None,
    **options: Any,
) -> int:
    """Train and measure every combination of the components named, and print a table."""
    from zoo.errors import ZooError
    from zoo.harness.api import make_request, write_all
    from zoo.harness.plan import make_plan
    from zoo.harness.progress import for_stream
    from zoo.harness.run import run
    from zoo.harness.suite import load_suite

    given = {name: value for name, value in options.items() if value not in (None, ())}
    asked = {**(load_suite(suite) if suite else {}), **given}
    if compile_ is not None:
        asked["compile"] = compile_
    if full_attention:
        asked["read_last"] = False
    if seed and "seeds" in given:
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
    from zoo.report.table import as_text, caption, make_table

    click.echo(as_text(make_table(outcome.records)))
    click.echo(f"\n{caption(outcome.records)}")
    click.echo(f"Records and tables: {outcome.directory}")
