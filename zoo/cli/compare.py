"""``zoo compare``: what changed between two runs."""

from __future__ import annotations

from pathlib import Path

import click

from zoo.cli.options import json_option, metric_option, print_json
from zoo.errors import ZooError


@click.command()
@click.argument("before", metavar="A", type=click.Path(path_type=Path))
@click.argument("after", metavar="B", type=click.Path(path_type=Path))
@click.option(
    "--reference", metavar="ROW", default="", help="The row speeds are divided by: fused+sin."
)
@metric_option
@click.option(
    "--may-differ",
    metavar="NAMES",
    default="",
    help="Settings that differ on purpose, because their effect is what is compared: "
    "batching,epochs. Any other that differs makes a row not comparable.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["worse", "change"]),
    help="Exit with 1 if a row got worse, failed, or is skipped now (rows missing from B and "
    "differences found with too few seeds do not count), or if anything changed (rows added and "
    "gone count); also if nothing could be compared.",
)
@click.option("--markdown", is_flag=True, help="Print Markdown.")
@json_option
def compare(
    before: Path,
    after: Path,
    reference: str,
    metric: str,
    may_differ: str,
    fail_on: str | None,
    markdown: bool,
    as_json: bool,
) -> int:
    """Print what changed from the run in directory A to the one in B.

    \b
    zoo compare runs/monday runs/tuesday
    zoo compare results/bbc-news/cpu/grid runs/mine --fail-on worse
    zoo compare runs/by-length runs/random --may-differ batching
    """
    from zoo.report.compare_runs import compare as compare_runs
    from zoo.report.compare_runs import failure_reason
    from zoo.report.compare_text import comparison_data, comparison_text
    from zoo.report.run_report import RunReport
    from zoo.sweep.complete import read_run

    if markdown and as_json:
        raise ZooError("--markdown and --json: use one of the two")
    if reference and may_differ:
        raise ZooError(
            "--reference and --may-differ: use one of the two; speeds are not compared where "
            "settings differ"
        )
    settings = tuple(filter(None, map(str.strip, may_differ.split(","))))
    compared = []
    for one, other in _pairs(before, after):
        sides = [RunReport(read_run(side), metric=metric) for side in (one, other)]
        found = compare_runs(sides[0], sides[1], reference, settings)
        compared.append((str(one), str(other), found))
    if as_json:
        made = [comparison_data(found, one, other) for one, other, found in compared]
        print_json(made if len(made) > 1 else made[0])
    else:
        texts = (comparison_text(found, one, other, markdown) for one, other, found in compared)
        click.echo("\n\n".join(texts))
    if not fail_on:
        return 0
    reasons = (failure_reason(found, fail_on) for _, _, found in compared)
    why = next(filter(None, reasons), "")
    click.echo(f"--fail-on {fail_on}: {f'failed ({why})' if why else 'passed'}", err=True)
    return 1 if why else 0


def _pairs(before: Path, after: Path) -> list[tuple[Path, Path]]:
    """The two directories, or of runs on several data sets those of the data sets in both.

    Raises ZooError for a directory that does not exist, and for runs without a common data set.
    """
    from zoo.sweep.records import FILE

    for directory in (before, after):
        if not directory.is_dir():
            raise ZooError(f"{directory}: no such directory")
    names = [{file.parent.name for file in side.glob(f"*/{FILE}")} for side in (before, after)]
    if not all(names) or any((side / FILE).exists() for side in (before, after)):
        return [(before, after)]
    if not (common := sorted(names[0] & names[1])):
        raise ZooError(f"{before} and {after} have no data set in common")
    return [(before / name, after / name) for name in common]
