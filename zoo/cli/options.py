"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from zoo.registry import AXES

if TYPE_CHECKING:
    from zoo.registry.loading import Zoo

Command = TypeVar("Command", bound=Callable[..., Any])


Decorator = Callable[[Any], Any]


class Place(click.Path):
    """A path to write to. An empty one, as a script's unset variable gives, is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """As ``click.Path`` does; fails on an empty one."""
        if value == "":
            self.fail(
                "it is empty; name a directory or a file, or leave the option out", param, ctx
            )
        return super().convert(value, param, ctx)


SUITE: Decorator = click.option(
    "--suite", metavar="FILE", help="A TOML file of options; those given here win."
)

TASK: Decorator = click.option(
    "--task",
    metavar="NAME",
    help="classify (the default), lm (continue a text) or seq2seq (write one text from another).",
)

DATA: tuple[Decorator, ...] = (
    click.option(
        "--data",
        metavar="SPEC",
        help="bbc-news, newswire, order, a path, or hub:owner/name; for lm a .txt file as well; "
        "for seq2seq reverse, copy, sort, dates, or a .tsv file of pairs.",
    ),
    click.option("--text-column", metavar="NAME", help="Column of the texts (default: text)."),
    click.option("--label-column", metavar="NAME", help="Column of the labels (default: label)."),
    click.option(
        "--keep-duplicates/--drop-duplicates",
        default=None,
        help="Whether to train on documents that also stand in the test split.",
    ),
)

SIZES: tuple[Decorator, ...] = (
    click.option("--dim", type=int, help="Width of the model."),
    click.option("--layers", type=int, help="Number of blocks."),
    click.option("--heads", type=int, help="Attention heads."),
    click.option("--hidden", type=int, help="Inner width of the feed-forward networks."),
    click.option("--head-hidden", type=int, help="Width of the head's own layer; 0 for none."),
    click.option("--max-length", type=int, help="Tokens per text; what is beyond is cut off."),
    click.option("--vocab-size", type=int, help="Entries of the vocabulary."),
    click.option("--members", type=int, help="Models that answer together (default: 1)."),
)

TRAINING: tuple[Decorator, ...] = (
    click.option("--epochs", type=int, help="Passes over the training split."),
    click.option("--batch-size", type=int, help="Documents per step."),
    click.option("--lr", type=float, help="Peak learning rate."),
    click.option("--weight-decay", type=float, help="AdamW's weight decay."),
    click.option("--dropout", type=float, help="Share of values dropped while training."),
    click.option("--attention-dropout", type=float, help="Share of attention weights dropped."),
    click.option("--token-dropout", type=float, help="Share of tokens hidden while training."),
    click.option(
        "--token-deletion", type=float, help="Share of tokens left out of a text while training."
    ),
    click.option(
        "--embedding-std", type=float, help="Spread of the embeddings' elements before training."
    ),
    click.option("--label-smoothing", type=float, help="Share of the target spread evenly."),
    click.option("--schedule", metavar="NAME", help="linear, cosine or constant."),
    click.option("--warmup", type=float, help="Share of all steps over which the rate rises."),
    click.option("--clip", type=float, help="Greatest gradient norm; 0 for no clipping."),
    click.option(
        "--validation",
        type=float,
        help="Score this share of the training split, not the test split.",
    ),
)

BEAM: Decorator = click.option(
    "--beam", type=int, metavar="N", help="Texts that seq2seq keeps in sight (default: 4)."
)

DEVICE: Decorator = click.option("--device", metavar="NAME", help="auto, cpu, cuda or mps.")

EXECUTION: tuple[Decorator, ...] = (
    DEVICE,
    click.option("--precision", metavar="NAME", help="auto, fp32 or bf16."),
    click.option("--compile/--no-compile", default=None, help="Use torch.compile."),
    click.option(
        "--full-attention",
        is_flag=True,
        help="Compute every position in the last layer, also those that the pool does not read.",
    ),
)

WORKER: tuple[Decorator, ...] = (
    click.option("--threads", type=int, metavar="N", help="Threads of one worker; 0: all cores."),
    click.option(
        "--timeout", type=float, metavar="SECONDS", help="The most that one trial may take."
    ),
    click.option("--memory-limit", type=int, metavar="MIB", help="The most one worker may hold."),
)


def shared_options(*groups: tuple[Decorator, ...]) -> Decorator:
    """Add groups of options, such as SIZES, in their order."""

    def add(command: Any) -> Any:
        for option in reversed([option for group in groups for option in group]):
            command = option(command)
        return command

    return add


def axis_options(what: str, metavar: str = "NAMES") -> Decorator:
    """Add an option for every axis; what: the help's words after the axis' name."""
    return shared_options(
        tuple(
            click.option(f"--{axis}", metavar=metavar, help=f"{axis.capitalize()} {what}.")
            for axis in AXES
        )
    )


def asked_for(options: dict[str, Any]) -> dict[str, Any]:
    """What ``make_request`` is to be asked: the suite's options, and over them those given."""
    from zoo.config.suite import load_suite

    suite, full_attention = options.get("suite"), options.get("full_attention")
    asked = load_suite(suite) if suite else {}
    asked |= {
        name: value
        for name, value in options.items()
        if value not in (None, ()) and name not in ("suite", "full_attention")
    }
    if full_attention:
        asked["read_last"] = False
    return asked


def plugin_option(command: Command) -> Command:
    """Add ``--plugin FILE``; the command gets ``plugins: tuple[str, ...]`` for ``load_zoo``."""
    return click.option(
        "--plugin",
        "plugins",
        metavar="FILE",
        multiple=True,
        help="Register the components of this Python file too; may be given again.",
    )(command)


def json_option(command: Command) -> Command:
    """Add ``--json``; the command gets ``as_json: bool``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def load_zoo(plugins: Sequence[str] = ()) -> Zoo:
    """Everything that is installed, and the files; what is wrong with it goes to stderr."""
    import zoo.registry.loading

    loaded = zoo.registry.loading.load(plugins)
    for warning in loaded.warnings:
        click.echo(f"warning: {warning}", err=True)
    return loaded
