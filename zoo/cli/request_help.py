"""The help text of a command with many options: the usual ones in a line or two, or all of them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import click

# The headings, in their order.
WHAT, DATA, MODEL, TRAINING, MEASURING, WHERE, OUTPUT, OTHER = SECTIONS = (
    "What",
    "Data",
    "Model",
    "Training",
    "Measuring",
    "Where",
    "Output",
    "Other",
)
# Options of a request that --help shows; of a command's own options it shows all but those that
# are declared with usual=False. --help-all shows every one.
USUAL = frozenset(
    (
        *("task", "attention", "pe", "norm", "ffn", "block", "pool", "baseline"),
        *("data", "test", "text_column", "label_column"),
        *("dim", "layers", "heads", "max_length"),
        *("minutes", "epochs", "batch_size", "lr"),
        "phases",
        *("jobs", "threads", "device"),
    )
)
_ALL = "zoo.help_all"  # the key in a click context that says that all options are shown


class SectionOption(click.Option):
    """An option under one of the ``SECTIONS``. usual: whether --help shows it."""

    def __init__(self, *args: Any, section: str, usual: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section, self.usual = section, usual


def help_all_option() -> click.Option:
    """``--help-all``, which prints every option with the whole of its help text."""

    def show(context: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted and not context.resilient_parsing:
            context.meta[_ALL] = True
            click.echo(context.get_help(), color=context.color)
            context.exit()

    return click.Option(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Show all options, with the whole of their descriptions, and exit.",
    )


def write_options(
    context: click.Context, params: Sequence[click.Parameter], formatter: click.HelpFormatter
) -> None:
    """Write the options under their headings; ``params`` are in the order of the headings."""
    whole = context.meta.get(_ALL, False)
    options = [param for param in params if isinstance(param, click.Option) and not param.hidden]
    # The last line stands for --help and --help-all.
    shown = [o for o in options if whole or _is_usual(o)]
    for heading, group in itertools.groupby(shown, section_of):
        records = [record for option in group if (record := option.get_help_record(context))]
        with formatter.section(heading):
            formatter.write_dl([(f, text if whole else brief(text)) for f, text in records])
    if not whole:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(
                f"[ ]: the default. --help-all describes all {len(options)} options."
            )


def _is_usual(option: click.Option) -> bool:
    return getattr(option, "usual", not {"--help", "--help-all"} & set(option.opts))


def section_of(param: click.Parameter) -> str:
    """The heading of a parameter."""
    return getattr(param, "section", WHAT if param.name == "plugins" else OTHER)


def brief(text: str) -> str:
    """The first clause of a help text, and the default in brackets.

    The default is in the brackets at its end, or else in the words after "by default".
    """
    body, _, notes = text.rstrip("]").partition("  [")
    kept = [note for note in notes.split("; ") if note and not note.endswith(" only")]
    default = "; ".join(kept).removeprefix("default: ")
    if not default and (said := re.search(r"[;,.] by default ([^;,.]+)", body, re.IGNORECASE)):
        default = said[1]
    clause = re.split(r"[.;:](?: |$)", body)[0]
    return f"{clause}  [{default}]" if default else clause
