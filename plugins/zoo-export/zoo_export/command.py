"""``zoo export``: a saved model as an ONNX file or a program of torch.export."""

from __future__ import annotations

import contextlib
import importlib.util
import json
from pathlib import Path

import click

from zoo.cli.model import SavedModel
from zoo.cli.options import load_zoo, plugin_option
from zoo.errors import ZooError
from zoo.inference.saved_model import CONFIG

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
    "--int8",
    is_flag=True,
    help="Store the matrices of an ONNX file as 8-bit integers, which changes logits a little.",
)
@click.option(
    "--allow-changed",
    is_flag=True,
    help="Export the model although components have changed since it was trained.",
)
@plugin_option
def export(
    directory: str,
    to: str,
    out: str | None,
    int8: bool,
    allow_changed: bool,
    plugins: tuple[str, ...],
) -> None:
    """Write a saved model for other runtimes, with its tokenizer and a description.

    \b
    zoo export model --to onnx
    zoo export model --to torch --out program

    DIR is of 'zoo train --save', or what Transformers saved after fine-tuning. The file takes
    batches of any size and texts of any length up to the model's. Its logits are compared with the
    model's own before it is kept.
    """
    if int8 and to != "onnx":
        raise ZooError("--int8 is for --to onnx")
    source, registry = Path(directory), load_zoo(plugins).registry
    if saved_by_transformers(source) and importlib.util.find_spec("zoo_hf"):
        import zoo_hf

        zoo_hf.use_plugins(*plugins)
        model = zoo_hf.text_model(source)
    else:
        model = SavedModel(directory, "cpu", allow_changed, registry).open("export")

    from zoo_export.export import export as write

    name = f"{source.resolve().name}-{to}{'-int8' if int8 else ''}"
    target = Path(out) if out else source.parent / name
    compared = write(model, registry, to, target, int8=int8)
    click.echo(f"Exported: {target}")
    click.echo(
        f"Compared in {compared.runtime}: in {compared.batches} batches of texts of 1 to "
        f"{compared.longest} tokens, logits differ by at most {compared.difference:.1e}, and the "
        f"likeliest class by {compared.other} of {compared.predictions}."
    )


def saved_by_transformers(directory: Path) -> bool:
    """Whether the directory is of ``save_pretrained`` and not of the zoo."""
    with contextlib.suppress(OSError, ValueError):
        config = json.loads((directory / CONFIG).read_text("utf-8"))
        return isinstance(config, dict) and "architectures" in config and "task" not in config
    return False
