"""``zoo attend``: the attention weights of a text, as numbers, a picture or a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from zoo.cli.model import SavedModel, model_options, report_limits
from zoo.cli.options import json_option, print_json
from zoo.cli.table import print_table
from zoo.errors import ZooError

if TYPE_CHECKING:
    from zoo.inference.attention_map import View

FORMATS = (".png", ".svg", ".html")
MATRIX = 12  # tokens; a wider matrix does not fit a terminal
MOST = 3  # tokens named instead of a whole row


@click.command()
@click.option("--layer", metavar="N", help="A layer, from 1, or all.  [default: all]")
@click.option("--head", metavar="N", help="A head, from 1, or all.  [default: their mean]")
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
    layer: str | None,
    head: str | None,
    files: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show how much every token of a text attends to every other, in every layer.

    \b
    zoo attend model "can you can that"
    zoo attend model "can you can that" --layer 1 --head all --out heads.png
    zoo attend model "can you can that" --out map.html

    Rows are queries, columns are keys; rows sum to one. The predicted class stands above them.
    Layers whose attention gives no weights are left out. A page has every other layer and head,
    whatever --layer and --head say.
    """
    for file in files:
        if Path(file).suffix.lower() not in FORMATS:
            raise ZooError(f"--out {file}: its name must end with .png, .svg or .html")
    if not text.strip():
        raise ZooError("the text is empty")
    model = saved.open("attend")

    from zoo.inference.attention_map import attention_map, views

    found = attention_map(model, text)
    if found.all_unknown:
        raise ZooError("every token of the text is unknown to the model")
    shown = views(found, layer, head)
    for file in files:
        from zoo.inference.attention_map import write_map

        write_map(Path(file), found, shown, model.card.cell)
        click.echo(f"wrote {file}", err=True)
    if as_json:
        rows = [{"layer": v.layer, "head": v.head, "weights": v.weights.tolist()} for v in shown]
        content = {"tokens": found.tokens, "cut": found.cut, "predicted": found.predicted}
        content["maps"] = rows
        print_json(content, indent=None)
    elif not files:
        click.echo(f"predicted: {found.predicted}\n")
        _print(found.tokens, shown)
    if found.missing:
        missing = " and ".join(f"layer {number}" for number in found.missing)
        click.echo(f"note: the attention of {missing} gives no map", err=True)
    report_limits(found.cut > 0, found.unknown > 0, 1, model.max_length)


def _print(tokens: list[str], shown: list[View]) -> None:
    for number, view in enumerate(shown):
        click.echo(("\n" if number else "") + view.title)
        rows, header = [], ["", *tokens]
        if len(tokens) > MATRIX:
            header = ["token", f"attends most to ({MOST} of {len(tokens)})"]
        for token, row in zip(tokens, view.weights, strict=True):
            cells = [f"{weight:.2f}" for weight in row]
            if len(tokens) > MATRIX:
                most = row.argsort()[::-1][:MOST]
                cells = [", ".join(f"{tokens[i]} {cells[i]}" for i in most)]
            rows.append([token, *cells])
        print_table(rows, header)
