"""Which parts there are, and which other libraries have them: ``python -m bench.inventory``.

    zoo check all --json > checks.json
    python -m bench.inventory checks.json results/inventory

The parts are those of the registry: what is installed. A part counts where every check of its kind
was run, at least one passed and none failed. Which libraries have a part is said in inventory.toml.
``python -m bench.publish`` makes the published tables from the lines that are written.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tabulate import tabulate

from bench.commit import code_commit, commit_sentence
from zoo.conformance.check import checks_of
from zoo.errors import ZooError
from zoo.registry import AXES, Component, Registry
from zoo.registry.loading import load
from zoo.report.write import write_file

ABOUT = """\
# What there is

The parts that can be combined, and which of four libraries have them, by the library's own name;
after ~ stands another form of the part, which computes something else and is not counted. Each part
passes `zoo check`. Parts that a library has and the zoo has not are not listed."""
FILE = "checks.jsonl"  # what is published of the checks: a line for every part
COMMIT = "commit"  # of the code whose checks they are, in every line
FACTS = Path(__file__).with_name("inventory.toml")
OTHER_FORM = "~"  # in front of a library's name: another form of the part


@dataclass(frozen=True)
class Part:
    """A component, and how many of its checks passed.

    failed, missing: the names of the checks that failed, and of those that were not run.
    """

    kind: str
    name: str
    distribution: str
    passed: int
    failed: Sequence[str]
    missing: Sequence[str]

    @property
    def counts(self) -> bool:
        """Whether it is in the tables."""
        return self.passed > 0 and not self.failed and not self.missing


@dataclass(frozen=True)
class Facts:
    """What other libraries have.

    versions: library to the version that was read. names: (kind, name) of a part to library to the
    name that the part has there.
    """

    versions: Mapping[str, str]
    names: Mapping[tuple[str, str], Mapping[str, str]]

    @classmethod
    def read(cls) -> Facts:
        """Those of inventory.toml."""
        content = tomllib.loads(FACTS.read_text())
        versions = content.pop("libraries")
        parts = ((kind, part, of) for kind, own in content.items() for part, of in own.items())
        return cls(versions, {(kind, part): libraries for kind, part, libraries in parts})

    def of(self, part: Part) -> Mapping[str, str] | None:
        """Library to its name for the part; None where inventory.toml has no entry for it."""
        return self.names.get((part.kind, part.name))


def find_parts(registry: Registry, results: Iterable[Mapping[str, Any]]) -> list[Part]:
    """Every component of the axes with its results, which are those of ``zoo check --json``.

    Components called ``none`` are left out: they are the absence of a part. Results of a component
    with other parameters are its own as well.
    """
    of_part: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for result in results:
        kind, _, name = result["component"].partition("/")
        component = registry.choose(kind, name).component
        of_part.setdefault((kind, component.full_name), []).append(result)
    components = (c for kind in AXES for c in registry.components(kind) if c.name != "none")
    return [_part(c, of_part.get((c.kind, c.full_name), [])) for c in components]


def _part(component: Component, results: Sequence[Mapping[str, Any]]) -> Part:
    run = {result["check"] for result in results}
    return Part(
        component.kind,
        component.name,
        component.owner.distribution,
        passed=sum(result["status"] == "passed" for result in results),
        failed=sorted({result["check"] for result in results if result["status"] == "failed"}),
        missing=[check for check in checks_of(component.kind) if check not in run],
    )


def numbers_table(parts: Sequence[Part], facts: Facts) -> str:
    """How many parts of every kind count, and how many of these each library has."""
    shown = [part for part in parts if part.counts]
    rows = [[kind, *_numbers([p for p in shown if p.kind == kind], facts)] for kind in AXES]
    rows.append(["all", *_numbers(shown, facts)])
    return _table(["kind", "parts", *facts.versions, "in none of them"], rows)


def page(parts: Sequence[Part], facts: Facts) -> str:
    """The numbers, and a table of the parts of every kind."""
    blocks = [ABOUT, numbers_table(parts, facts)]
    libraries = [f"{name} {version}" for name, version in facts.versions.items()]
    for kind in AXES:
        own = [part for part in parts if part.kind == kind and part.counts]
        rows = [[f"`{part.name}`", part.distribution, *_cells(part, facts)] for part in own]
        if rows:
            blocks += [f"## {kind}", _table(["part", "from", *libraries], rows)]
    return "\n\n".join(blocks) + "\n"


def _numbers(parts: Sequence[Part], facts: Facts) -> list[int]:
    """How many there are, how many of them each library has, and how many none has in any form.

    A part without an entry counts among the parts alone.
    """
    names = [own for part in parts if (own := facts.of(part)) is not None]
    same = (
        sum(library in own and not own[library].startswith(OTHER_FORM) for own in names)
        for library in facts.versions
    )
    return [len(parts), *same, sum(not own for own in names)]


def _cells(part: Part, facts: Facts) -> list[str]:
    """For every library its name for the part."""
    names = facts.of(part)
    if names is None:
        return ["?" for _ in facts.versions]
    written = [names.get(library, "") for library in facts.versions]
    return [re.sub("^(~?)(.+)", lambda m: f"{m[1]} `{m[2]}`".strip(), n) or "–" for n in written]


def _table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    return tabulate(rows, headers, tablefmt="github", disable_numparse=True)


def read_results(file: Path) -> list[Mapping[str, Any]]:
    """What ``zoo check --json`` wrote; ZooError where the file is something else."""
    try:
        results: list[Mapping[str, Any]] = list(json.loads(file.read_text())["results"])
    except OSError as error:
        raise ZooError(f"{file}: {error.strerror}") from None
    except (ValueError, LookupError, TypeError):
        raise ZooError(f"{file}: not the output of zoo check --json") from None
    return results


def write(parts: Sequence[Part], directory: Path) -> None:
    """Write what ``publish`` reads: a line for every part."""
    directory.mkdir(parents=True, exist_ok=True)
    lines = [asdict(part) | {COMMIT: code_commit()} for part in parts]
    write_file(directory / FILE, "".join(f"{json.dumps(line)}\n" for line in lines))


def publish(source: Path, directory: Path) -> None:
    """Make table.md and README.md in the directory from the lines in the source directory."""
    lines = [json.loads(line) for line in (source / FILE).read_text().splitlines()]
    commit = commit_sentence([line.pop(COMMIT, "") for line in lines])
    parts, facts = [Part(**line) for line in lines], Facts.read()
    directory.mkdir(parents=True, exist_ok=True)
    write_file(directory / "table.md", numbers_table(parts, facts) + "\n")
    write_file(directory / "README.md", page(parts, facts) + f"\n{commit}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the lines, name the parts that do not count, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.inventory", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("file", type=Path, help="what zoo check --json printed")
    parser.add_argument("directory", type=Path, help=f"where to write {FILE}")
    options = parser.parse_args(arguments)
    try:
        parts = find_parts(load().registry, read_results(options.file))
        write(parts, options.directory)
        for part in parts:
            if not part.counts:
                print(f"{part.kind}/{part.name}: not counted: {part.failed or 'not all run'}")
    except ZooError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
