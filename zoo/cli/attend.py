"""``zoo attend``: the attention weights of a text, as numbers or a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from zoo.cli.model import SavedModel, model_options, report_limits
from zoo.cli.options import json_option, print_json, print_table
from zoo.config.places import refuse_unwritable
from zoo.errors import ZooError

if TYPE_CHECKING:
    from zoo.inference.attention_map import AttentionMap

MATRIX = 12  # tokens; a wider matrix does not fit a terminal
MOST = 3  # tokens named instead of a whole row


@click.command()
@model_options
@click.argument("text")
@click.option("--out", metavar="FILE", help="Write a picture, as PNG.")
@json_option
def attend(saved: SavedModel, text: str, out: str | None, as_json: bool) -> None:
    """Show how much every token of a text attends to every other, in every layer.

    \b
    zoo attend model "can you can that"
    zoo attend model "can you can that" --out means.png

    Rows are queries, columns are keys; rows sum to one. The predicted class stands above them.
    Layers whose attention gives no weights are left out. --json has every head, all else the mean
    over heads.
    """
    if out is not None:
        if Path(out).suffix.lower() != ".png":
            raise ZooError(f"--out {out}: its name must end with .png")
        refuse_unwritable(Path(out), is_file=True)
    if not text.strip():
        raise ZooError("the text is empty")
    model = saved.open("attend")

    from zoo.inference.attention_map import attention_map, write_picture

    shown = attention_map(model, text)
    if shown.all_unknown:
        raise ZooError("every token of the text is unknown to the model")
    if out is not None:
        title = f"{model.card.cell}; predicted: {shown.predicted}"
        write_picture(Path(out), shown.tokens, shown.means, title)
        click.echo(f"wrote {out}", err=True)
    if as_json:
        content = {"tokens": shown.tokens, "cut": shown.cut, "predicted": shown.predicted}
        content["maps"] = [
            {"layer": n, "weights": mean.tolist(), "heads": shown.by_layer[n].tolist()}
            for n, mean in shown.means.items()
        ]
        print_json(content, indent=None)
    elif out is None:
        click.echo(f"predicted: {shown.predicted}\n")
        _print(shown)
    if shown.missing:
        missing = " and ".join(f"layer {number}" for number in shown.missing)
        click.echo(f"note: the attention of {missing} gives no map", err=True)
    report_limits(shown.cut > 0, shown.unknown > 0, 1, model.max_length)


def _print(shown: AttentionMap) -> None:
    tokens = shown.tokens
    for number, (layer, weights) in enumerate(shown.means.items()):
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
