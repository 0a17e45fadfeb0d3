"""``zoo check``: check components against the contract of their kind."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import asdict

import click

from zoo.cli.options import (
    SEED,
    STYLES,
    json_option,
    load_zoo,
    plugin_option,
    print_json,
    printable,
)
from zoo.conformance import (
    CheckResult,
    CheckSettings,
    checks_of,
    consequences,
    counts,
    run_checks,
    select_choices,
)
from zoo.errors import ZooError, counted
from zoo.registry import KINDS


@click.command()
@click.argument("components", metavar="[KIND/NAME]...", nargs=-1)
@plugin_option
@click.option("--only", metavar="CHECK", multiple=True, help="Run this check; may be given again.")
@click.option(
    "--expect",
    "expected",
    metavar="CHECK=WHY",
    multiple=True,
    help="This check must fail, for the reason given; CHECK or KIND/NAME:CHECK.",
)
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option(
    "--compile",
    "backend",
    type=click.Choice(["eager", "aot_eager", "inductor"]),
    default="aot_eager",
    show_default=True,
    help="Back end of torch.compile; 'inductor' is thorough and slow.",
)
@click.option("--list", "listing", is_flag=True, help="List the checks and their claims.")
@json_option
def check(
    components: tuple[str, ...],
    plugins: tuple[str, ...],
    only: tuple[str, ...],
    expected: tuple[str, ...],
    seed: int,
    backend: str,
    listing: bool,
    as_json: bool,
) -> int:
    """Check components against the contract of their kind.

    \b
    zoo check attention/fused
    zoo check "attention/window(size=8)" pe/rope
    zoo check attention/all
    zoo check --plugin my_window.py      everything that the file registers
    zoo check all
    zoo check --list

    Exit status 1 if a check failed, or if all were skipped: skipped is not passed. One that is
    expected to fail counts as ``xfailed`` when it does, and as failed when it does not.
    """
    if listing:
        return _list(as_json)
    zoo = load_zoo(plugins)
    chosen = select_choices(zoo, components, files=not components)
    settings = CheckSettings(seed=seed, compile_backend=backend)
    reasons = _reasons(expected)
    results = run_checks(chosen, only=only, files=plugins, settings=settings, expected=reasons)
    done = list(results) if as_json else _print(results)
    found = counts(done)
    if as_json:
        print_json({"results": [asdict(result) for result in done], "counts": found})
    else:
        tested = len({result.component for result in done})
        summary = ", ".join(f"{count} {status}" for status, count in found.items())
        click.echo(f"\n{counted(tested, 'component')}: {summary}")
    return 1 if found["failed"] or not (found["passed"] or found.get("xfailed")) else 0


def _reasons(expected: Iterable[str]) -> dict[str, str]:
    """Check to the reason why it fails; ZooError where one is written otherwise."""
    reasons = {}
    for text in expected:
        # A component's parameters have '=' too: the check's name follows its last colon.
        head, colon, tail = text.partition("):") if "):" in text else ("", "", text)
        name, equals, why = tail.partition("=")
        if not equals or not name.strip() or not why.strip():
            raise ZooError(f"--expect '{text}' needs a check and a reason: --expect CHECK=WHY")
        reasons[f"{head}{colon}{name.strip()}"] = why.strip()
    return reasons


def _print(results: Iterable[CheckResult]) -> list[CheckResult]:
    """Print each result as it comes, and return all. What follows from a failure is one line."""
    done: list[CheckResult] = []
    for component, group in itertools.groupby(results, lambda result: result.component):
        own: list[CheckResult] = []
        for result in group:
            if not own:
                click.echo("\n" * bool(done) + click.style(component, bold=True), nl=False)
                click.echo(f"  {result.owner}")
            own.append(result)
            if result not in consequences(own):
                _print_one(result)
        done += own
        if others := [result.check for result in consequences(own)]:
            status = click.style(f"{'failed':<8}", **STYLES["failed"])
            many = f"{len(others)} others, probably" if len(others) > 1 else "one more, probably"
            click.echo(f"  {status}{many} for the same reason: {', '.join(others)}")
    return done


def _print_one(result: CheckResult) -> None:
    status = click.style(f"{result.status:<8}", **STYLES[result.status])
    note = f": {printable(result.message)}" if result.message else ""
    click.echo(f"  {status}{result.check}{note}")
    if result.status == "failed":
        click.echo(f"          must hold: {result.claim}")
        click.echo(f"          owner:     {result.owner}")
        click.echo(f"          repeat:    {result.repeat}")


def _list(as_json: bool) -> int:
    checks = {kind: {c.name: c.claim for c in checks_of(kind).values()} for kind in KINDS}
    if as_json:
        print_json(checks)
        return 0
    for kind, claims in checks.items():
        click.secho(kind, bold=True)
        for name, claim in claims.items():
            click.echo(f"  {name:<22}{claim}")
    return 0
