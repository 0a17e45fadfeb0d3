"""How many small faults the tests catch: ``python -m bench.power``.

    python -m bench.power reach --out power           # runs all tests: which reach which line
    python -m bench.power draw --out power            # 300 faults, on lines that tests reach
    python -m bench.power run --out power --part 1/2  # each fault against the tests that reach it
    python -m bench.power table --out power

A fault is one change of one expression or statement. ``run`` tries the tests that reach its line,
those first that reach few other lines, up to a limit. Each command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from coverage import CoverageData
from tabulate import tabulate

ROOT = Path(__file__).parents[1]
TESTS = ("tests", "plugins")
NEAREST = 60  # tests that a fault is tried against
LIMIT = 300.0  # seconds of one run of tests; a fault that makes tests hang is caught
OPPOSITE: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE,
    ast.LtE: ast.Gt, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div,
    ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """A change of one piece of a file.

    start, end: offsets of the piece in the file's UTF-8 text. kind: ``operator``, ``constant``,
    ``dropped`` or ``swapped``.
    """

    file: str
    line: int
    start: int
    end: int
    kind: str
    before: str
    after: str

    def applied(self, text: bytes) -> bytes:
        """The file's text with the fault. Raises ValueError where the file has changed since."""
        if text[self.start : self.end] != self.before.encode():
            raise ValueError(f"{self.file}:{self.line}: no longer {self.before!r}; draw again")
        return text[: self.start] + self.after.encode() + text[self.end :]

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.kind}: {self.before} -> {self.after}"


def faults_in(file: str, text: str, lines: set[int]) -> Iterator[Fault]:
    """Every fault that can be made on the given lines of a file."""
    tree = ast.parse(text)
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in ast.walk(tree):
        made = _changed(node)
        if made is None or getattr(node, "lineno", 0) not in lines:
            continue
        kind, after = made
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        before = text.encode()[start:end].decode()
        yield Fault(file, node.lineno, start, end, kind, before, after)


def _changed(node: ast.AST) -> tuple[str, str] | None:
    """The kind of fault that a node allows, and its source with it."""
    new = copy.deepcopy(node)
    match new:
        case ast.Compare(ops=[operator, *_]) if type(operator) in OPPOSITE:
            new.ops[0] = OPPOSITE[type(operator)]()  # type: ignore[call-overload]
        case ast.BoolOp(op=operator) | ast.BinOp(op=operator) if type(operator) in OPPOSITE:
            new.op = OPPOSITE[type(operator)]()  # type: ignore[assignment]
        case ast.Constant(value=bool() as value):
            return "constant", repr(not value)
        case ast.Constant(value=int() as value):
            return "constant", repr(value + 1)
        case ast.Constant(value=float() as value):
            return "constant", repr(2 * value or 1.0)
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Continue():
            return "dropped", "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return "dropped", "pass"
        case ast.Call(args=[first, second, *_]) if not isinstance(first, ast.Starred):
            if isinstance(second, ast.Starred) or ast.dump(first) == ast.dump(second):
                return None
            new.args[:2] = [second, first]
            return "swapped", f"({ast.unparse(new)})"
        case _:
            return None
    return "operator", f"({ast.unparse(new)})"


class Reached:
    """Which test reaches which line, as coverage.py noted it."""

    def __init__(self, file: Path) -> None:
        self.data = CoverageData(str(file))
        self.data.read()
        code = (f for f in self.data.measured_files() if f.endswith(".py"))  # templates run too
        self.files = {str(Path(f).relative_to(ROOT)): f for f in code}
        self.tests: dict[str, dict[int, set[str]]] = {}
        self.reach: Counter[str] = Counter()  # test to the number of lines that it reaches
        failing = set(file.with_name("failing.txt").read_text().split("\n"))
        for name, place in self.files.items():
            contexts = self.data.contexts_by_lineno(place)
            by_line = {n: {c.rpartition("|")[0] for c in cs if c} for n, cs in contexts.items()}
            by_line = {n: tests - failing for n, tests in by_line.items()}
            self.tests[name] = by_line
            self.reach.update(test for tests in by_line.values() for test in tests)

    def of(self, fault: Fault) -> list[str]:
        """The tests that reach a fault, those first that reach few other lines."""
        return sorted(self.tests[fault.file].get(fault.line, ()), key=lambda t: (self.reach[t], t))


def reach(out: Path) -> None:
    """Run all tests under coverage.py."""
    config = out / "coverage.ini"
    config.write_text(
        f"[run]\nsource =\n    {ROOT / 'zoo'}\n"
        + "".join(f"    {p}\n" for p in sorted((ROOT / "plugins").glob("*/zoo_*")))
        + f"data_file = {out / 'reached'}\n",
    )
    command = ["--cov", f"--cov-config={config}", "--cov-context=test", "--cov-report="]
    failing: list[str] = []
    for number, folders in enumerate(_suites()):
        append = ["--cov-append"] if number else []
        failing += _pytest(ROOT, [*command, *append, *folders], None)
    (out / "failing.txt").write_text("\n".join(failing))


def draw(out: Path, count: int, seed: int) -> None:
    """Draw faults, as many of each kind as of the others, and write them."""
    reached = Reached(out / "reached")
    kinds: dict[str, list[Fault]] = defaultdict(list)
    for name in sorted(reached.files):
        lines = {n for n, tests in reached.tests[name].items() if tests}
        for fault in faults_in(name, (ROOT / name).read_text(), lines):
            kinds[fault.kind].append(fault)
    rng = random.Random(seed)
    each = -(-count // len(kinds))
    drawn = [f for _, faults in sorted(kinds.items()) for f in rng.sample(faults, each)]
    with (out / "faults.jsonl").open("w") as file:
        file.writelines(json.dumps(asdict(fault)) + "\n" for fault in drawn[:count])


def run(out: Path, part: int, parts: int) -> None:
    """Try each fault of a part against the tests that reach it."""
    reached, done = Reached(out / "reached"), {line["number"] for line in _outcomes(out)}
    with tempfile.TemporaryDirectory() as place:
        tree = _copied(Path(place))
        for number, fault in enumerate(_faults(out)):
            if number % parts == part - 1 and number not in done:
                caught = _first_failure(tree, fault, reached.of(fault)[:NEAREST])
                _note(out / f"run-{part}-of-{parts}.jsonl", number, fault, caught)


def table(out: Path) -> str:
    """Faults and those caught, by kind and by folder."""
    faults, caught = _faults(out), _caught(out)
    rows: dict[str, list[bool]] = defaultdict(list)
    for number, by in caught.items():
        fault = faults[number]
        for group in (fault.kind, "/".join(fault.file.split("/")[:2]), "all"):
            rows[group].append(by is not None)
    ordered = sorted(rows.items(), key=lambda row: (row[0] == "all", row[0]))
    lines = [(name, len(f), sum(f), f"{sum(f) / len(f):.0%}") for name, f in ordered]
    left = [f"- {faults[n]}" for n, by in sorted(caught.items()) if by is None]
    head = ["faults in", "drawn", "caught", "share"]
    text = [tabulate(lines, head, "github"), "", "Not caught:", *left]
    return "\n".join(text)


def _suites() -> list[list[str]]:
    """Those tests that run in one process: ours without plug-ins, and those of plug-ins."""
    return [["tests"], [str(p.relative_to(ROOT)) for p in sorted(ROOT.glob("plugins/*/tests"))]]


def _copied(place: Path) -> Path:
    """A copy of what git knows of the working tree, beside a link to the data."""
    tree = place / "zoo"
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    for name in filter(None, files.split("\0")):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes((ROOT / name).read_bytes())
    if (shared := ROOT.parent / "shared").exists():
        (place / "shared").symlink_to(shared.resolve())
    return tree


def _first_failure(tree: Path, fault: Fault, tests: Sequence[str]) -> str | None:
    """The first test that fails with the fault in a tree; ``the run`` where pytest itself does."""
    file = tree / fault.file
    text = file.read_bytes()
    file.write_bytes(fault.applied(text))
    try:
        for folder in TESTS:
            own = [test for test in tests if test.startswith(folder)]
            if own and (failed := _pytest(tree, ["-x", "-n0", *own], LIMIT)):
                return failed[0]
    except subprocess.TimeoutExpired:
        return "the run"
    finally:
        file.write_bytes(text)
    return None


def _pytest(tree: Path, arguments: Sequence[str], limit: float | None) -> list[str]:
    """The tests that fail. Raises TimeoutExpired after so many seconds."""
    paths = [tree, *sorted(tree.glob("plugins/*/"))]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rfE", *arguments],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths)), "COLUMNS": "1000"},
        capture_output=True,
        text=True,
        timeout=limit,
    )
    named = [
        line.partition(" ")[2].partition(" - ")[0]
        for line in ended.stdout.splitlines()
        if line.startswith(("FAILED ", "ERROR "))
    ]
    return named or (["the run"] if ended.returncode not in (0, 5) else [])


def _faults(out: Path) -> list[Fault]:
    """Those drawn."""
    return [Fault(**fields) for fields in map(json.loads, (out / "faults.jsonl").open())]


def _outcomes(out: Path) -> list[dict[str, object]]:
    return [json.loads(line) for file in sorted(out.glob("run-*.jsonl")) for line in file.open()]


def _caught(out: Path) -> dict[int, str | None]:
    """The number of each fault that was tried to the test that caught it."""
    caught: dict[int, str | None] = {}
    for line in _outcomes(out):
        number, by = line["number"], line["caught"]
        assert isinstance(number, int)
        assert by is None or isinstance(by, str)
        caught[number] = caught.get(number) or by
    return caught


def _note(file: Path, number: int, fault: Fault, caught: str | None) -> None:
    with file.open("a") as stream:
        stream.write(json.dumps({"number": number, "fault": str(fault), "caught": caught}) + "\n")
    print(f"{number} {fault}: {caught or 'not caught'}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.power", description=__doc__)
    parser.add_argument("command", choices=["reach", "draw", "run", "table"])
    parser.add_argument("--out", type=Path, required=True, help="folder of all that is noted")
    parser.add_argument("--faults", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", default="1/1", help="this part of how many, as 1/2")
    options = parser.parse_args(arguments)
    out: Path = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    part, parts = map(int, options.part.split("/"))
    match options.command:
        case "reach":
            reach(out)
        case "draw":
            draw(out, options.faults, options.seed)
        case "run":
            run(out, part, parts)
        case "table":
            print(table(out))


if __name__ == "__main__":
    main()
