"""The reference of the command line, from the program itself."""

from __future__ import annotations

import functools
import html
import inspect
import re
from typing import Any

import click

from bench.docs.catalog import catalog
from bench.publish.markdown import grid
from zoo.cli import cli
from zoo.cli.request_options import SET, section
from zoo.report.tables.text import escaped

_OPTION = re.compile(r"(?<![\w`-])(--?[a-z][\w-]*)")


@functools.cache
def commands() -> dict[str, tuple[click.Command, click.Context]]:
    """Every command by its name, with a context to ask it for its options."""
    contexts = {}
    for registered in catalog().commands.values():
        # A parent of its own: a command keeps its options in what contexts of one parent share.
        root = click.Context(cli, info_name="zoo", **cli.context_settings)
        command: Any = registered.resolve()
        context = click.Context(command, info_name=registered.name, parent=root)
        contexts[registered.name] = command, context
    return contexts


def options(name: str) -> list[click.Parameter]:
    """The options of a command, in the order of its help; hidden ones are among them."""
    command, context = commands()[name]
    with context:
        return [p for p in command.get_params(context) if isinstance(p, click.Option)]


def reference() -> str:
    """A section for each command: what it does, how it is called, and a table of its options."""
    parts = [_options_of_zoo()]
    for name in commands():
        parts.append(_of_command(name))
    return "\n\n".join(parts)


def _options_of_zoo() -> str:
    with click.Context(cli, info_name="zoo", **cli.context_settings) as context:
        rows = [_row(param, context) for param in cli.get_params(context)]
    return grid(rows)


def _of_command(name: str) -> str:
    command, context = commands()[name]
    with context:
        usage = " ".join(["zoo", name, *command.collect_usage_pieces(context)])
        parts = [f"## zoo {name}", f"    {usage}", *_help(command)]
        groups: dict[str, list[dict[str, str]]] = {}
        for param in options(name):
            groups.setdefault(section(param), []).append(_row(param, context))
            for setting, (metavar, text) in getattr(param, "settings", {}).items():
                groups.setdefault(SET, []).append(_described(f"{setting}={metavar}", text))
        for title, rows in groups.items():
            parts += [f"**{title}**" if len(groups) > 1 else "", grid(rows)]
    return "\n\n".join(part for part in parts if part)


def _help(command: click.Command) -> list[str]:
    r"""The paragraphs of the help text; one after ``\b`` is shown as it is."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(command.help or ""))
    return [
        f"```text\n{paragraph.removeprefix(chr(8)).strip()}\n```"
        if paragraph.startswith("\b")
        else _text(" ".join(paragraph.split()))
        for paragraph in paragraphs
    ]


def _row(param: click.Parameter, context: click.Context) -> dict[str, str]:
    record = param.get_help_record(context)
    flags, text = record or ("/".join(param.opts), str(getattr(param, "help", "") or ""))
    return _described(flags, text)


def _described(flags: str, text: str) -> dict[str, str]:
    # A pipe in backticks would need an escape for GitHub, which Python's Markdown would show.
    shown = html.escape(flags, quote=False).replace("|", "&#124;")
    return {"option": f"<code>{shown}</code>", "what it does": _text(text)}


def _text(text: str) -> str:
    """Help text as Markdown: options as code."""
    return _OPTION.sub(r"`\1`", escaped(text))
