"""``zoo scale``: how cost grows along an axis."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

import click

from zoo.cli.options import Place, load_zoo, plugin_option, print_tracebacks, resumable
from zoo.cli.request_help import OUTPUT, TRAINING, Setting
from zoo.cli.request_options import ON, RequestCommand, option
from zoo.config.usual_names import flag
from zoo.errors import ZooError
from zoo.registry import AXES

# The values that are measured by default.
DEFAULT_VALUES = {
    "length": "128,256,…,8192",
    "dim": "64,128,…,1024",
    "layers": "1,2,…,16",
    "batch": "1,2,…,64",
}
TEXTS_PER_STEP = "Texts per step.  [default: 1]"
# The options that the axes replace, where they have other names.
REPLACED = {"length": "max_length", "batch": "batch_size"}
# Of the options that all tasks share.
SHARED = (
    *("task", *AXES, "dim", "layers", "heads", "ffn_dim", "max_length", "vocab_size", "dropout"),
    *("device", "precision", "compile", "blocks", "threads", "timeout"),
)


@click.command(
    cls=RequestCommand,
    offers=lambda one: one.name in SHARED if one.part else not one.data,
)
@plugin_option
@option(
    TRAINING,
    "--over",
    default="length",
    metavar="|".join(DEFAULT_VALUES),
    show_default=True,
    help="What grows.",
)
@option(
    TRAINING,
    "--values",
    metavar="LIST",
    help=f"Its values.  [default: {'; '.join(f'{n}: {v}' for n, v in DEFAULT_VALUES.items())}]",
)
@option(TRAINING, "--lengths", metavar="LIST", help="The same as --over length --values LIST.")
@click.option("batch_size", cls=Setting, example="1", metavar="N", type=int, help=TEXTS_PER_STEP)
@ON
@option(
    OUTPUT,
    "--out",
    metavar="DIR",
    type=Place(),
    help="Where records, tables and plot go.  [default: runs/scale-OVER]",
)
@option(OUTPUT, "--fresh", is_flag=True, help="Measure again what is already there.")
@option(
    OUTPUT,
    "--collect",
    is_flag=True,
    usual=False,
    help="Show what is already there; measure nothing.",
)
def scale(
    over: str,
    lengths: str | None,
    values: str | None,
    on: str,
    out: str | None,
    fresh: bool,
    collect: bool,
    **options: Any,
) -> int:
    """Measure time and memory of a step as texts grow longer, or models wider or deeper.

    \b
    zoo scale --attention fused,naive --lengths 128,256,…,8192
    zoo scale --attention fused,naive --over dim --values 64,128,256
    zoo scale --collect --out runs/scale-length
    """
    from zoo.execution import choose_executor
    from zoo.inference.requests import build_request
    from zoo.measure.scaling import known_axis, parse_values
    from zoo.report.tables.scaling_table import as_text
    from zoo.report.write import write_scale
    from zoo.sweep.cost import run_scale
    from zoo.sweep.progress import for_stream
    from zoo.sweep.records import SCALE_FILE, RecordFile

    known_axis(over)
    directory = Path(out or f"runs/scale-{over}")
    if fresh and collect:
        raise ZooError("--fresh measures everything again and --collect nothing: use one of them")
    if collect:
        records = RecordFile(directory, SCALE_FILE).read()
        if not records:
            raise ZooError(f"{directory}: no {SCALE_FILE} with records there")
    else:
        if lengths and values:
            raise ZooError("--lengths is --values of --over length: use one of the two")
        if lengths and over != "length":
            raise ZooError(f"--lengths goes with --over length; for {over} use --values")
        own = REPLACED.get(over, over)
        if options.get(own) is not None:
            raise ZooError(
                f"{flag(own)} is what --over {over} changes: name its values with "
                f"{'--lengths' if over == 'length' else '--values'}"
            )
        named = "--lengths" if lengths else "--values"
        wanted = parse_values(lengths or values or DEFAULT_VALUES[over], named)
        loaded = load_zoo()
        if options["batch_size"] is None:
            options["batch_size"] = 1
        executor = choose_executor(loaded.registry, on, options)
        request = build_request(options, loaded.registry)
        with (
            contextlib.closing(for_stream(sys.stderr)) as progress,
            resumable(lambda: directory, fresh),
        ):
            records = run_scale(
                request,
                loaded,
                over,
                wanted,
                progress,
                directory=directory,
                on=executor,
                fresh=fresh,
            )
    write_scale(records, directory)
    click.echo(as_text(records))
    print_tracebacks(records)
    click.echo(f"\nRecords, tables and plot: {directory}")
    return 1 if any(r.status == "crashed" for r in records) else 0
