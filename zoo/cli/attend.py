"""``zoo attend``: the attention weights of a text, as numbers, a picture or a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from zoo.cli.model import SavedModel, model_options, report_limits
from zoo.cli.options import json_option, print_json
from zoo.cli.table import print_table
from zoo.config.places import refuse_unwritable
from zoo.errors import ZooError

if TYPE_CHECKING:
    from zoo.inference.attention_map import AttentionMap

FORMATS = (".png", ".svg", ".html")
MATRIX = 12  # tokens; a wider matrix does not fit a terminal
MOST = 3  # tokens named instead of a whole row


@click.command()
@model_options
@click.argument("text")
@click.option(
    "--out",
    "files",
    metavar="FILE",
    multiple=True,
    help="Write a picture (.png, .svg) or a page to hover over (.html); may be repeated.",
)
@json_option
def attend(
    saved: SavedModel,
    text: str,
    files: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show how much every token of a text attends to every other, in every layer.

    \b
    zoo attend model "can you can that"
    zoo attend model "can you can that" --out means.png
    zoo attend model "can you can that" --out map.html

    Rows are queries, columns are keys; rows sum to one. The predicted class stands above them.
    Layers whose attention gives no weights are left out. A page and --json have every head, all
    else the mean over heads.
    """
    for file in files:
        if Path(file).suffix.lower() not in FORMATS:
            raise ZooError(f"--out {file}: its name must end with .png, .svg or .html")
        refuse_unwritable(Path(file), is_file=True)
    if not text.strip():
        raise ZooError("the text is empty")
    model = saved.open("attend")

    from zoo.inference.attention_map import attention_map, write_map

    found = attention_map(model, text)
    if found.all_unknown:
        raise ZooError("every token of the text is unknown to the model")
    for file in files:
        write_map(Path(file), found, model.card.cell)
        click.echo(f"wrote {file}", err=True)
    if as_json:
        content = {"tokens": found.tokens, "cut": found.cut, "predicted": found.predicted}
        content["maps"] = [
            {"layer": n, "weights": mean.tolist(), "heads": found.by_layer[n].tolist()}
            for n, mean in found.means.items()
        ]
        print_json(content, indent=None)
    elif not files:
        click.echo(f"predicted: {found.predicted}\n")
        _print(found)
    if found.missing:
        missing = " and ".join(f"layer {number}" for number in found.missing)
        click.echo(f"note: the attention of {missing} gives no map", err=True)
    report_limits(found.cut > 0, found.unknown > 0, 1, model.max_length)


def _print(found: AttentionMap) -> None:
    tokens = found.tokens
    for number, (layer, weights) in enumerate(found.means.items()):
        click.echo(("\n" if number else "") + f"layer {layer}, mean over heads")
        rows, header = [], ["", *tokens]
        if len(tokens) > MATRIX:
            header = ["token", f"attends most to ({MOST} of {len(tokens)})"]
        for token, row in zip(tokens, weights, strict=True):
            cells = [f"{weight:.2f}" for weight in row]
            if len(tokens) > MATRIX:
                most = row.argsort()[::-1][:MOST]
                cells = [", ".join(f"{tokens[i]} {cells[i]}" for i in most)]
            rows.append([token, *cells])
        print_table(rows, header)
