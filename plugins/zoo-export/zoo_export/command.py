"""``zoo export``: a saved model as an ONNX file or a program of torch.export."""

from __future__ import annotations

from pathlib import Path

import click

from zoo.cli.model import SavedModel
from zoo.cli.options import load_zoo, plugin_option

FORMATS = ("onnx", "torch")


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("--to", type=click.Choice(FORMATS), required=True, help="What to write.")
@click.option(
    "--out",
    metavar="DIR",
    help="A new directory for the files.  [default: DIR-onnx or DIR-torch]",
)
@click.option(
    "--allow-changed",
    is_flag=True,
    help="Export the model although components have changed since it was trained.",
)
@plugin_option
def export(
    directory: str, to: str, out: str | None, allow_changed: bool, plugins: tuple[str, ...]
) -> None:
    """Write a saved model for other runtimes, with its tokenizer and a description.

    \b
    zoo export model --to onnx
    zoo export model --to torch --out program

    The file takes batches of any size and texts of any length up to the model's. Its logits are
    compared with the model's own before it is kept.
    """
    registry = load_zoo(plugins).registry
    SavedModel(directory, "cpu", allow_changed, registry).refuse_other_tasks("export")

    from zoo_export.export import export as write

    source = Path(directory)
    target = Path(out) if out else source.parent / f"{source.resolve().name}-{to}"
    compared = write(source, registry, to, target, allow_changed=allow_changed)
    click.echo(f"Exported: {target}")
    click.echo(
        f"Compared in {compared.runtime}: in {compared.batches} batches of texts of 1 to "
        f"{compared.longest} tokens, logits differ by at most {compared.difference:.1e}."
    )
