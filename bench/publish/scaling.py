"""What ``zoo scale`` measured, as a published page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from zoo.report.tables.scaling_table import as_text, axis
from zoo.report.tables.text import line, link
from zoo.report.write import write_file, write_scale
from zoo.sweep.records import Record, RecordFile

FILE, PAGE = "scale.jsonl", "README.md"


@dataclass(frozen=True)
class ScaleRun:
    """place: its directory under the published one."""

    place: str
    records: list[Record]

    @property
    def title(self) -> str:
        """What was varied."""
        return f"How cost grows with {axis(self.records)}"


def find_scales(source: Path) -> list[ScaleRun]:
    """Every run of ``zoo scale`` under a directory; ZooError for a file that cannot be read."""
    found = []
    for file in sorted(source.rglob(FILE)):
        if records := RecordFile(file.parent, FILE).read():
            found.append(ScaleRun(file.parent.relative_to(source).as_posix(), records))
    return found


def write_scale_page(run: ScaleRun, directory: Path) -> None:
    """Tables, plot and page into an existing directory."""
    write_scale(run.records, directory)
    command = next((r for r in run.records if r.status == "ok"), run.records[0]).command
    files = [("CSV", "scale.csv"), ("PNG", "scale.png"), ("records", FILE)]
    parts = [
        f"# {line(run.title)}",
        f"![{line(run.title)}](scale.svg)",
        as_text(run.records, "github"),
        f"Every record has the command that repeats it, such as\n\n    {line(command)}"
        if command
        else "",
        " · ".join(link(label, name) for label, name in files),
    ]
    write_file(directory / PAGE, "\n\n".join(filter(None, parts)) + "\n")


def scale_overview(run: ScaleRun) -> list[str]:
    """Its part of the overview."""
    files = [("page", PAGE), ("table", "scale.md"), ("CSV", "scale.csv"), ("records", FILE)]
    return [
        f"### {line(run.title)}",
        " · ".join(link(label, f"{run.place}/{name}") for label, name in files),
        f"![{line(run.title)}]({run.place}/scale.svg)",
    ]
