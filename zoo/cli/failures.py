"""Turns what a command raises into one line on stderr and an exit status."""

from __future__ import annotations

import codecs
import io
import itertools
import os
import select
import sys
import traceback

import click

from zoo.errors import WriteError, ZooError, one_line

FAILED, USAGE, INTERNAL, INTERRUPTED, CLOSED_PIPE = 1, 2, 70, 130, 141


def run(command: click.Command, arguments: list[str]) -> int:
    """Run a command and return its exit status; an error becomes one line on stderr.

    A command may return an exit status, or call ``context.exit(status)``.
    """
    # The group has no option with a value: all words before the command are its flags.
    debug = "--debug" in itertools.takewhile(lambda word: word.startswith("-"), arguments)
    name = " ".join(["zoo", *itertools.islice((w for w in arguments if w[:1] != "-"), 1)])
    for stream in (sys.stdout, sys.stderr):  # "?" for what the terminal's encoding lacks
        if isinstance(stream, io.TextIOWrapper) and codecs.lookup(stream.encoding).name != "utf-8":
            stream.reconfigure(errors="replace")
    try:
        status = _invoke(command, arguments)
        if sys.stdout is not None:
            sys.stdout.flush()  # so that a closed pipe raises here and not at shutdown
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        context = getattr(error, "ctx", None)  # of the command that rejected its arguments
        return _fail(context.command_path if context else name, _worded(error), debug)
    except ZooError as error:
        status = FAILED if isinstance(error, WriteError) else USAGE
        return _fail(name, str(error), debug, status)
    except (KeyboardInterrupt, click.Abort) as error:
        click.echo(f"{name}: interrupted{f': {error}' if str(error) else ''}", err=True)
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - an unexpected error is a bug
        if isinstance(error, BrokenPipeError) and _stdout_is_closed():
            return CLOSED_PIPE
        if isinstance(error, OSError) and error.filename:
            return _fail(name, f"{error.filename}: {error.strerror}", debug)
        traceback.print_exc()
        click.echo(f"{name}: internal error: {one_line(error)}", err=True)
        return INTERNAL
    return status if isinstance(status, int) else 0


def _invoke(command: click.Command, arguments: list[str]) -> object:
    """Run the command, or the shell completion that the environment asks for."""
    if instruction := os.environ.get("_ZOO_COMPLETE"):
        from click.shell_completion import shell_complete

        return shell_complete(command, {}, "zoo", "_ZOO_COMPLETE", instruction)
    with command.make_context("zoo", arguments) as context:
        return command.invoke(context)


def _fail(name: str, message: str, debug: bool, status: int = USAGE) -> int:
    """Print the one line (after the traceback, if it was asked for) and return the exit status."""
    if debug:
        traceback.print_exc()
    click.echo(f"{name}: error: {' '.join(message.split())}", err=True)
    return status


def _worded(error: click.ClickException) -> str:
    """A click error's message; of a wrong option in the zoo's own words."""
    if isinstance(error, click.NoSuchOption):
        return f"no option '{error.option_name}'; {_option_meant(error)}"
    return error.format_message()


def _option_meant(error: click.NoSuchOption) -> str:
    """A clause that names the option that is likely to be meant, or says what lists them all."""
    from zoo.config.usual_names import zoo_name

    context = error.ctx
    params = context.command.get_params(context) if context is not None else []
    flags = [f for p in params for f in (*p.opts, *p.secondary_opts) if f.startswith("--")]
    known = {flag[2:].replace("-", "_"): flag for flag in flags}
    found = zoo_name(error.option_name.lstrip("-").replace("-", "_"), known)
    if found is not None:
        return f"did you mean {known[found]}?"
    return f"{'--help-all' if 'help_all' in known else '--help'} lists them"


def _stdout_is_closed() -> bool:
    """Whether stdout's reader has closed it; if so, redirect it, so that shutdown can flush it.

    The broken pipe may also be one to a worker, which is a real error.
    """
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    closed = any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    if closed:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return closed
