"""Build the documentation site: ``python -m bench.docs``, which is ``make docs``.

Pages of docs/, plugins/ and results/ are copied, others are made from the program and from records,
and Zensical makes HTML of them in build/docs/site. Broken links are errors.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.docs.command_line import reference
from bench.docs.component_pages import component_pages, components_overview
from bench.docs.notebooks import notebook_pages
from bench.docs.pages import page, place_of
from bench.docs.place import CONFIG, PAGES, RESULTS, ROOT, SITE, SOURCES
from bench.publish.markdown import code, grid
from bench.publish.others import comparisons, components_link
from bench.simulate.page import LINES, SIMULATIONS
from bench.simulate.page import page as simulations_page
from zoo.errors import ZooError
from zoo.report.run_report import RunReport
from zoo.report.tables.text import line as one_line

PEERS = RESULTS / "peers" / "cpu" / "lines.jsonl"


def columns_table() -> str:
    """Of each column of a report its name for a reader, its key in ``table.csv``, what it holds."""
    columns = RunReport([]).table.columns
    heads = [(one_line(c.head), code(c.key), one_line(c.help)) for c in columns]
    return grid([dict(zip(("column", "in table.csv", "holds"), row, strict=True)) for row in heads])


def simulated() -> dict[str, str]:
    """Title of a section of the simulations' page, in small letters, to its text."""
    page = simulations_page(RESULTS / SIMULATIONS / LINES)
    _, *sections = re.split(r"^## (.+)$", page, flags=re.MULTILINE)
    titles, texts = sections[::2], sections[1::2]
    return {title.lower(): text.strip() for title, text in zip(titles, texts, strict=True)}


# What a page asks for by ``<!-- made: NAME -->``.
MADE: dict[str, Callable[[], str]] = {
    "columns": columns_table,
    "commands": reference,
    "components": components_overview,
    "speed comparisons": lambda: comparisons(PEERS),
    "speed components": lambda: components_link(RESULTS, "results/"),
    **{f"simulated {name}": functools.partial(str, text) for name, text in simulated().items()},
}
# Of the results: what pages show and link to.
PUBLISHED = {".md", ".html", ".svg", ".csv", ".tex", ".jsonl"}


def write(path: str, content: str | bytes) -> None:
    """Write a page or a picture to its place on the site."""
    file = PAGES / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)


def write_pages() -> None:
    """Everything that Zensical reads. Raises ZooError for a page that cannot be made."""
    shutil.rmtree(PAGES, ignore_errors=True)
    for source in sorted(SOURCES.rglob("*.md")):
        write(source.relative_to(SOURCES).as_posix(), page(source, MADE))
    write("site.css", (SOURCES / "site.css").read_bytes())
    others = ["CONTRIBUTING.md", "CHANGELOG.md", "plugins/README.md"]
    others += [f"plugins/{file.parent.name}/README.md" for file in ROOT.glob("plugins/*/README.md")]
    for name in others:
        write(place_of(name), page(ROOT / name))
    for folder in (RESULTS, ROOT / "bench" / "suites"):
        for file in sorted(folder.rglob("*")):
            if file.is_file() and file.suffix in {*PUBLISHED, ".toml"}:
                content = page(file) if file.suffix == ".md" else file.read_bytes()
                write(file.relative_to(ROOT).as_posix(), content)
    for path, text, pictures in component_pages():
        write(path, text)
        for picture in pictures:
            write(f"{Path(path).parent.as_posix()}/{picture.name}.svg", picture.svg)
    for path, content in notebook_pages():
        write(path, content)


def main() -> int:
    """Build the site and return the exit status: 1 where anything is wrong with it."""
    start = time.perf_counter()
    try:
        write_pages()
        wrote = time.perf_counter()
        zensical = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
        built = subprocess.run([*zensical, "--config-file", str(CONFIG)], cwd=ROOT, check=False)
        if built.returncode != 0:
            return 1
    except ZooError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    end = time.perf_counter()
    pages = sum(1 for _ in SITE.rglob("index.html"))
    print(f"{pages} pages in {SITE.relative_to(ROOT)}: {wrote - start:.0f} s to write them, "
          f"{end - wrote:.0f} s to build")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
