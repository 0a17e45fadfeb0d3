"""``zoo claim``: one published claim, run and judged; ``zoo claims``: all, with their verdicts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.options import load_zoo, plugin_option, print_table
from zoo.cli.request_options import ON
from zoo.config.claim import BUILT_IN_CLAIMS, Claim, Table, find_row, load_claim
from zoo.config.request import load_suite
from zoo.errors import ZooError, counted, nearest
from zoo.registry import KINDS
from zoo.registry.component import file_of

if TYPE_CHECKING:
    from zoo.registry import Registry
    from zoo.registry.loading import Zoo

RUNS = "runs/claims"


def claim_files(zoo: Zoo) -> dict[str, Path]:
    """The zoo's claims by name, then those in a folder ``claims`` beside a plug-in's module."""
    owners = {c.owner for kind in KINDS for c in zoo.registry.components(kind)}
    modules = sorted({o.module for o in owners if not o.distribution.endswith(".py")} - {""})
    plugins = [*filter(None, map(file_of, modules)), *map(Path, zoo.files)]
    files: dict[str, Path] = {}
    for folder in (BUILT_IN_CLAIMS, *(plugin.parent / "claims" for plugin in plugins)):
        for file in sorted(folder.glob("*.toml")):
            taken = file.stem in files
            files[f"{folder.parent.name}:{file.stem}" if taken else file.stem] = file
    return files


@click.command()
@plugin_option
@click.option("--out", metavar="DIR", default=RUNS, show_default=True, help="Where the runs are.")
def claims(plugins: tuple[str, ...], out: str) -> None:
    """List published claims, with the verdicts of those that were run.

    MINUTES: of one core, about; the cheapest are first.

    \b
    zoo claims
    zoo claims --out results/claims
    """
    from zoo.report.claims import judge
    from zoo.report.write import read_result

    rows = []
    for name, file in claim_files(load_zoo(plugins)).items():
        try:
            claim, verdict = load_claim(file), "not run"
        except ZooError as error:  # one that is broken hides no other
            rows.append((0.0, name, "cannot be read", str(error)))
            continue
        place = Path(out) / name
        if place.is_dir():
            verdict = judge(claim, read_result(place).data_sets.values()).verdict
        rows.append((claim.minutes, name, verdict, claim.statement))
    lines = [(name, f"{minutes:.0f}", *more) for minutes, name, *more in sorted(rows)]
    print_table(lines, ("CLAIM", "MINUTES", "VERDICT", "STATEMENT"), cut=3)


@click.command()
@click.argument("name", metavar="NAME")
@plugin_option
@click.option("--seeds", type=int, metavar="N", help="By default as many as a verdict needs.")
@click.option("--jobs", type=int, metavar="N", help="Models trained at once.")
@ON
@click.option("--out", metavar="DIR", help="Where records go.  [default: runs/claims/NAME]")
@click.option("--plan", is_flag=True, help="Print what would run, and stop.")
def claim(name: str, plugins: tuple[str, ...], out: str | None, plan: bool, **options: Any) -> int:
    """Run a published claim, and say whether it holds here.

    NAME is one of 'zoo claims', or a suite with a table [claim]. A run that was interrupted goes
    on with the same command.

    \b
    zoo claim copying-linear --jobs 2
    """
    from zoo import api
    from zoo.cli.bench import print_plans
    from zoo.report.claims import judge
    from zoo.sweep.progress import Shown
    from zoo.sweep.records import REUSABLE

    of_file = load_suite(name).get("plugins", ()) if Path(name).is_file() else ()
    zoo = load_zoo((*of_file, *plugins))
    files = claim_files(zoo)
    if name not in files and not Path(name).is_file():
        raise ZooError(f"no claim '{name}', and no such file{nearest(name, files)}")
    file = files.get(name, Path(name))
    asked = load_claim(file)
    refuse_absent(asked, file, zoo.registry)
    if options["seeds"] is None:
        options["seeds"] = asked.seeds
    if plan:
        asked_for = {"suite": file, "seeds": options["seeds"], "jobs": options["jobs"]}
        print_plans(api.build_requests(asked_for, zoo.registry), zoo, as_json=False)
        return 0
    out = out or f"{RUNS}/{file.stem}"
    result = api.bench(suite=file, plugins=plugins, out=out, progress=Shown(sys.stderr), **options)
    judgement = judge(asked, result.data_sets.values())
    click.echo(f"{asked.statement} ({asked.source})\n")
    marks = {True: "yes", False: "no", None: "open"}
    for finding in judgement.findings:
        click.echo(f"{marks[finding.holds]:>5}  {finding.text}")
    minutes = f"{judgement.minutes:.1f} minutes of a core"
    click.echo(f"\n{judgement.verdict}: {counted(judgement.seeds or 0, 'seed')}, {minutes}")
    records = [record for run in result.data_sets.values() for record in run.records]
    # That a training diverges is a result: it does not solve the task.
    return 1 if any(r.status not in (*REUSABLE, "diverged") for r in records) else 0


def refuse_absent(claim: Claim, file: Path, registry: Registry) -> None:
    """Raise ZooError where a prediction is of data, a row or a rate that its suite has not."""
    from zoo.api import build_requests
    from zoo.sweep.plan import make_plan

    requests, tables = build_requests({"suite": file}, registry), []
    for request in requests:
        cells = {row.name: row.cell_names for row in make_plan(request, registry).runnable}
        tables.append(Table(request.data or "", request.model_dump(), cells))
    for number, expectation in enumerate(claim.expects, start=1):
        where = f"claim {file} expects.{number}:"
        for row in filter(None, (expectation.row, expectation.than)):
            place, _ = find_row(row, expectation.data, tables, where)
        rates = requests[place].tuned.get("lr", (requests[place].training.lr,))
        if expectation.lr not in (None, *rates):
            raise ZooError(f"{where} no rate {expectation.lr:g} in {', '.join(map(str, rates))}")
