"""``zoo check``: check components against the contract of their kind."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable
from dataclasses import asdict

import click

from zoo.cli.options import SEED, json_option, load_zoo, plugin_option, print_json, printable
from zoo.conformance.check import (
    CheckResult,
    ComponentCheck,
    counts,
    result_lines,
    run_checks,
    select_choices,
)
from zoo.conformance.outcomes import CheckSettings
from zoo.errors import counted

_component = operator.attrgetter("component")  # of a result


@click.command()
@click.argument("components", metavar="[KIND/NAME]...", nargs=-1)
@plugin_option
@click.option("--only", metavar="CHECK", multiple=True, help="Run this check; may be given again.")
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option("--thorough", is_flag=True, help="Draw more sizes.")
@json_option
def check(
    components: tuple[str, ...],
    plugins: tuple[str, ...],
    only: tuple[str, ...],
    seed: int,
    thorough: bool,
    as_json: bool,
) -> int:
    """Check components against the contract of their kind.

    \b
    zoo check attention/fused
    zoo check "attention/window(size=8)" pe/rope
    zoo check attention/all
    zoo check --plugin my_window.py      everything that the file registers
    zoo check all

    Exit status 1 if a check failed, or if all were skipped: skipped is not passed.
    """
    zoo = load_zoo(plugins)
    chosen = select_choices(zoo, components, files=not components)
    settings = CheckSettings(seed, thorough)
    results = run_checks(chosen, _announce, only=only, files=plugins, settings=settings)
    done = list(results) if as_json else _print(results)
    totals = counts(done)
    if as_json:
        from zoo.conformance.certificate import certificate

        own = {name: list(group) for name, group in itertools.groupby(done, _component)}
        certificates = [certificate(c, own[f"{c.component.kind}/{c}"]) for c in chosen]
        entries = [asdict(result) for result in done]
        print_json({"results": entries, "counts": totals, "certificates": certificates})
    else:
        tested = len({result.component for result in done})
        summary = ", ".join(f"{count} {status}" for status, count in totals.items())
        click.echo(f"\n{counted(tested, 'component')}: {summary}")
    return 1 if totals["failed"] or not totals["passed"] else 0


def _announce(check: ComponentCheck) -> None:
    if check.name == "compiled":
        click.echo(f"  {check.component}: compiling, which takes seconds", err=True)


def _print(results: Iterable[CheckResult]) -> list[CheckResult]:
    """Print each result as it comes, and return all. What follows from a failure is one line."""
    done: list[CheckResult] = []
    for component, group in itertools.groupby(results, _component):
        own: list[CheckResult] = []
        for result in group:
            if not own:
                click.echo("\n" * bool(done) + click.style(component, bold=True), nl=False)
                click.echo(f"  {result.owner}")
            own.append(result)
            failed = [result.check for result in own if result.status == "failed"]
            if result.status != "failed" or len(failed) == 1:
                first, *more = result_lines(result)
                _echo(result.status, first)
                for line in more:
                    click.echo(f"          {printable(line)}")
        done += own
        if others := failed[1:]:
            many = f"{len(others)} others" if len(others) > 1 else "one more"
            _echo("failed", f"{many}, probably for the same reason: {', '.join(others)}")
    return done


def _echo(status: str, text: str) -> None:
    click.echo(f"  {status:<8}{printable(text)}")
