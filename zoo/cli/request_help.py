"""The help text of a command with many options: the usual ones in a line or two, or all of them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import click

# The headings, in their order.
WHAT, DATA, TRAINING, OUTPUT, SET, OTHER = SECTIONS = (
    "What",
    "Data",
    "Training and measuring",
    "Where and output",
    "Sizes and settings, each as --set NAME=VALUE",
    "Other",
)
# Options of a request that --help shows; of a command's own options it shows all but those that
# are declared with usual=False. --help-all shows every one.
USUAL = frozenset(
    (
        *("task", "attention", "pe", "norm", "ffn", "block", "pool", "baseline"),
        *("data", "test", "text_column", "label_column", "max_length"),
        *("epochs", "phases"),
    )
)
FULL = "In Python, help(zoo.bench) has the whole of each description."
_ALL = "zoo.help_all"  # the key in a click context that says that all options are shown


class SectionOption(click.Option):
    """An option under one of the ``SECTIONS``. usual: whether --help shows it."""

    def __init__(self, *args: Any, section: str, usual: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section, self.usual = section, usual


class Setting(SectionOption):
    """What ``--set NAME=VALUE`` sets. example: a value of it, in words."""

    def __init__(self, names: Sequence[str], *, example: str, metavar: str, **kwargs: Any) -> None:
        (name,) = names
        spelt = f"--set {name}"
        super().__init__([spelt, name], section=SET, usual=False, hidden=True, **kwargs)
        self.record, self.example = f"{name}={metavar}", f"{spelt}={example or metavar}"

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Its line of a help text; click has none of an option that shells do not complete."""
        return self.record, self.help or ""


def help_all_option() -> click.Option:
    """``--help-all``, which prints every option."""

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
        help="Show all options and settings, and exit.",
    )


def write_options(
    context: click.Context, params: Sequence[click.Parameter], formatter: click.HelpFormatter
) -> None:
    """Write the options under their headings; ``params`` are in the order of the headings."""
    whole = context.meta.get(_ALL, False)
    options = [param for param in params if isinstance(param, click.Option)]
    # The last line stands for --help and --help-all.
    shown = [o for o in options if whole or _is_usual(o)]
    for heading, group in itertools.groupby(shown, section_of):
        records = [record for option in group if (record := option.get_help_record(context))]
        with formatter.section(heading):
            formatter.write_dl([_short(*r, heading == SET) for r in records], col_max=24)
    formatter.write_paragraph()
    with formatter.indentation():
        more = f"--help-all lists all {len(options)} options and settings."
        formatter.write_text(f"[ ]: the default. {FULL if whole else more}")


def _is_usual(option: click.Option) -> bool:
    return getattr(option, "usual", not {"--help", "--help-all"} & set(option.opts))


def section_of(param: click.Parameter) -> str:
    """The heading of a parameter."""
    return getattr(param, "section", WHAT if param.name == "plugins" else OTHER)


def _short(flags: str, text: str, only: bool) -> tuple[str, str]:
    """Flags and the first clause of a help text with the default in brackets.

    The default is in the brackets at its end, or else in the words after "by default"; for 0 there
    is what 0 stands for. only: whether to say which tasks alone have the option.
    """
    body, _, notes = text.rstrip("]").partition("  [")
    kept = [note for note in notes.split("; ") if note and (only or not note.endswith(" only"))]
    default = "; ".join(kept).replace("default: ", "")
    if not default and (said := re.search(r"[;.] by default (.+?)(?:[;,.](?: |$)|$)", body, re.I)):
        default = said[1]
    if default in ("0", "0.0") and (zero := re.search(r"\b0: ([^;,.]+)", body)):
        default = zero[1]
    flags = flags.partition(" / ")[0] if default == "no" else flags
    clause = re.split(r"[.;:](?: |$)", body)[0]
    return flags, f"{clause}  [{default}]" if default else clause
