"""What ``zoo scale`` measured, as a published page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from zoo.report.tables.markdown import line, link
from zoo.report.tables.scaling_table import as_text, axis
from zoo.report.tables.scaling_write import write_scale
from zoo.report.write import write_file
from zoo.sweep.records import Record, RecordFile
from zoo.sweep.scale import FILE

PAGE = "README.md"


@dataclass(frozen=True)
class ScaleRun:
    """place: its directory under the published one."""

    place: str
    records: list[Record]

    @property
    def title(self) -> str:
        """What was changed, and of which cells."""
        return f"How cost grows with {axis(self.records)}"


def find_scales(source: Path) -> list[ScaleRun]:
    """Every run of ``zoo scale`` under a directory; ZooError for a file that cannot be read."""
    found = []
    for file in sorted(source.rglob(FILE)):
        records = RecordFile(file.parent, FILE).read()
        if records:
            found.append(ScaleRun(file.parent.relative_to(source).as_posix(), records))
    return found


def write_scale_page(run: ScaleRun, directory: Path) -> None:
    """Tables, plot and page into an existing directory."""
    write_scale(run.records, directory)
    first = next((r for r in run.records if r.status == "ok"), run.records[0])
    parts = [
        f"# {line(run.title)}",
        f"![{line(run.title)}](scale.svg)",
        as_text(run.records, "github"),
        f"Every record holds the command that measures its point again, such as\n\n"
        f"    {line(first.command)}"
        if first.command
        else "",
        " · ".join(
            link(said, name)
            for said, name in (("CSV", "scale.csv"), ("PNG", "scale.png"), ("records", FILE))
        ),
    ]
    write_file(directory / PAGE, "\n\n".join(filter(None, parts)) + "\n")


def scale_overview(run: ScaleRun) -> list[str]:
    """Its part of the overview."""
    files = [("page", PAGE), ("table", "scale.md"), ("CSV", "scale.csv"), ("records", FILE)]
    return [
        f"### {line(run.title)}",
        " · ".join(link(said, f"{run.place}/{name}") for said, name in files),
        f"![{line(run.title)}]({run.place}/scale.svg)",
    ]
