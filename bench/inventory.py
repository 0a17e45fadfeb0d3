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
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.commit import code_commit, commit_sentence
from bench.publish.markdown import grid
from zoo.conformance.check import checks_of
from zoo.registry import AXES, Registry
from zoo.registry.loading import load
from zoo.report.write import write_file

ABOUT = """\
# What there is

The parts that can be combined, and which of four libraries have them, by the library's own name;
after ~ stands another form of the part, which computes something else and is not counted. Each part
passes `zoo check`. Parts that a library has and the zoo has not are not listed."""
FILE = "checks.jsonl"  # a line for every part that passes
LIBRARIES = "libraries"  # the table of their versions, as they were read
OTHER_FORM = "~"  # in front of a library's name: another form of the part
# The content of inventory.toml: kind to part to library to the name that the part has there.
Facts = Mapping[str, Mapping[str, Any]]


class Part(NamedTuple):
    """A component that passes its checks."""

    kind: str
    name: str
    distribution: str


def read_facts() -> Facts:
    """What other libraries have."""
    return tomllib.loads(Path(__file__).with_name("inventory.toml").read_text())


def find_parts(registry: Registry, results: Iterable[Mapping[str, Any]]) -> list[Part]:
    """The components of the axes that pass; the others are named on stderr.

    results: of ``zoo check --json``; those of a component with other parameters are its own too.
    Components called ``none`` are left out: they are the absence of a part.
    """
    outcomes: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for result in results:
        kind, _, name = result["component"].partition("/")
        component = registry.choose(kind, name).component
        outcomes[kind, component.full_name][result["check"]].add(result["status"])
    parts = []
    for component in (c for kind in AXES for c in registry.components(kind) if c.name != "none"):
        known = outcomes[component.kind, component.full_name]
        statuses = set().union(*known.values())
        whole = known.keys() >= set(checks_of(component.kind))
        if whole and "passed" in statuses and "failed" not in statuses:
            parts.append(Part(component.kind, component.name, component.owner.distribution))
        else:
            why = "a check failed" if "failed" in statuses else "not all were run"
            print(f"{component.kind}/{component.name}: not counted: {why}", file=sys.stderr)
    return parts


def numbers_table(parts: Sequence[Part], facts: Facts) -> str:
    """How many parts of every kind there are, and how many of these each library has."""
    rows = [_numbers(kind, [p for p in parts if p.kind == kind], facts) for kind in AXES]
    return grid([*rows, _numbers("all", parts, facts)])


def page(parts: Sequence[Part], facts: Facts) -> str:
    """The numbers, and a table of the parts of every kind."""
    blocks = [ABOUT, numbers_table(parts, facts)]
    for kind in AXES:
        if own := [part for part in parts if part.kind == kind]:
            blocks += [f"## {kind}", grid([_row(part, facts) for part in own])]
    return "\n\n".join(blocks) + "\n"


def _names(part: Part, facts: Facts) -> Mapping[str, str] | None:
    """Library to its name for the part; None where nobody has looked."""
    names: Mapping[str, str] | None = facts.get(part.kind, {}).get(part.name)
    return names


def _numbers(kind: str, parts: Sequence[Part], facts: Facts) -> dict[str, str]:
    """How many there are, how many of them each library has, and how many none has in any form.

    A part without an entry counts among the parts alone.
    """
    names = [own for part in parts if (own := _names(part, facts)) is not None]
    same = {
        library: sum(library in own and not own[library].startswith(OTHER_FORM) for own in names)
        for library in facts[LIBRARIES]
    }
    numbers = {"parts": len(parts), **same, "in none of them": sum(not own for own in names)}
    return {"kind": kind, **{head: str(number) for head, number in numbers.items()}}


def _row(part: Part, facts: Facts) -> dict[str, str]:
    """The part, and every library's name for it."""
    names, row = _names(part, facts), {"part": f"`{part.name}`", "from": part.distribution}
    for library, version in facts[LIBRARIES].items():
        name = "?" if names is None else names.get(library, "")
        shown = re.sub("^(~?)([^?]+)", lambda m: f"{m[1]} `{m[2]}`".strip(), name)
        row[f"{library} {version}"] = shown or "–"
    return row


def publish(source: Path, directory: Path) -> None:
    """Make table.md and README.md in the directory from the lines in the source directory."""
    lines = [json.loads(line) for line in (source / FILE).read_text().splitlines()]
    parts, facts = [Part(*(line[f] for f in Part._fields)) for line in lines], read_facts()
    directory.mkdir(parents=True, exist_ok=True)
    write_file(directory / "table.md", numbers_table(parts, facts) + "\n")
    commit = commit_sentence(line["commit"] for line in lines)
    write_file(directory / "README.md", page(parts, facts) + f"\n{commit}\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the lines, and name the parts that do not count."""
    parser = argparse.ArgumentParser(prog="python -m bench.inventory", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("file", type=Path, help="what zoo check --json printed")
    parser.add_argument("directory", type=Path, help=f"where to write {FILE}")
    options = parser.parse_args(arguments)
    parts = find_parts(load().registry, json.loads(options.file.read_text())["results"])
    options.directory.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(part._asdict() | {"commit": code_commit()}) for part in parts)
    write_file(options.directory / FILE, "".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()
