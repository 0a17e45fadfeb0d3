"""Where a run's records were made: what all environments share is said once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from zoo.report.run_report import RunReport
from zoo.report.tables.text import plain
from zoo.wording import counted

_KINDS = {"train": "training", "tune": "tuning trial", "cost": "cost measurement"}


@dataclass(frozen=True)
class EnvironmentTable:
    """shared: name and value of what is the same everywhere. heads, rows: what differs.

    A row is a distinct environment; its first cell says what was done there.
    """

    shared: list[tuple[str, str]]
    heads: list[str]
    rows: list[list[str]]


def environment_of(run: RunReport) -> EnvironmentTable:
    """The environments of the records that ran."""
    counts: dict[tuple[tuple[str, str], ...], Counter[str]] = {}  # values to what was done
    # A record that is there twice, because a later run took it over, is one piece of work.
    for record in {(r.key, r.seed, r.started): r for r in run.records}.values():
        if record.environment and record.status != "skipped":
            values = tuple(_flat(record.environment | {"plug-ins": record.plugins}))
            counts.setdefault(values, Counter())[_KINDS[record.kind]] += 1
    found = {values: dict(values) for values in counts}
    names = list(dict.fromkeys(name for values in found.values() for name in values))
    by_name = {name: {values.get(name, "") for values in found.values()} for name in names}
    differing = [name for name in names if len(by_name[name]) > 1]
    shared = [(name, min(by_name[name])) for name in names if name not in differing]
    rows = [
        [
            " and ".join(counted(n, kind) for kind, n in counts[key].items()),
            *(values.get(name, "") for name in differing),
        ]
        for key, values in found.items()
    ]
    if len(rows) == 1:  # all of it in one environment
        shared.insert(0, ("what", rows[0][0]))
    return EnvironmentTable(
        [(name, value) for name, value in shared if value], ["what", *differing], rows
    )


def _flat(values: dict[str, Any], before: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for key, value in values.items():
        if isinstance(value, dict):
            found += _flat(value, f"{before}{key} ")
        else:
            text = ("yes" if value else "no") if isinstance(value, bool) else value
            found.append((plain(f"{before}{key}"), "" if text is None else plain(text)))
    return found
