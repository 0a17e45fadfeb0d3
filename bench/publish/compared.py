"""One published run beside another of the same cells and seeds, with other settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.publish.markdown import link
from bench.publish.page import PAGE, Run
from zoo.errors import ZooError
from zoo.report.compare_runs import Comparison, compare
from zoo.report.compare_text import comparison_text, difference_text
from zoo.report.tables.text import code, line


@dataclass(frozen=True)
class ComparedRuns:
    """What the settings that ``now``'s suite names change, against ``before``."""

    before: Run
    now: Run
    found: Comparison

    def section(self) -> str:
        """For the page of the run."""
        to = self._link(self.now.home)
        text = comparison_text(self.found, self.before.title, self.now.title, markdown=True)
        return f"## Compared with another run: {to}\n\n{text}"

    def sentence(self, top: Path) -> str:
        """For the overview, which is in ``top``: the differences of the cells."""
        settings = ", ".join(
            f"{code(name)} {code(now or 'none')} instead of {code(before or 'none')}"
            for name, (before, now) in self.found.settings.items()
        )
        metric = self.found.metric
        names = {row.name: self.now.report.short_name(row) for row in self.now.report.rows}
        changes = [
            f"{code(names[row.name])} {line(difference_text(metric, change))}"
            for row in self.found.rows
            for change in row.changes
            if not row.baseline and change.metric == metric.label
        ]
        return f"Compared with {self._link(top)} ({settings}): {'; '.join(changes)}."

    def _link(self, start: Path) -> str:
        path = Path(os.path.relpath(self.before.home, start)).as_posix()
        return link(line(self.before.title), f"{path}/{PAGE}")


def compare_runs(now: Run, runs: Mapping[str, Run]) -> ComparedRuns | None:
    """With the run that its suite names; None where it names none.

    runs: by their places. Raises ZooError where that run is not published, or differs in more than
    the settings that the suite names.
    """
    if now.published is None or not (place := now.published.compared_with):
        return None
    where = f"suite {now.suite}: [published] compared_with {place}"
    if place not in runs:
        raise ZooError(f"{where}: no records there")
    settings = now.published.may_differ
    before = runs[place]
    try:
        found = compare(before.report, now.report, may_differ=settings)
    except ZooError as error:
        raise ZooError(f"{where}: {error}") from None
    for row in found.rows:
        if row.verdict == "not comparable":
            raise ZooError(f"{where}: {row.name} is not comparable: {row.why}")
    return ComparedRuns(before, now, found)
