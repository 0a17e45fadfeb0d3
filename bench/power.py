"""How many small faults in zoo/ its tests catch: ``python -m bench.power``.

    python -m bench.power draw power    # runs all tests: 300 faults, on lines that tests reach
    python -m bench.power run power     # each against the tests that reach it, and the table

A fault is one change of one expression or statement. ``run`` tries the tests that reach its line,
those first that reach few other lines, up to a limit. It goes on where it was stopped.
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
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from coverage import CoverageData
from tabulate import tabulate

ROOT = Path(__file__).parents[1]
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
    ``dropped`` or ``swapped``. tests: those that it is tried against.
    """

    file: str
    line: int
    start: int
    end: int
    kind: str
    before: str
    after: str
    tests: Sequence[str] = ()

    def applied(self, text: bytes) -> bytes:
        """The file's text with the fault. Raises ValueError where the file has changed since."""
        if text[self.start : self.end] != self.before.encode():
            raise ValueError(f"{self}: the file has changed; draw again")
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


def draw(out: Path, count: int) -> None:
    """Run all tests under coverage.py, and draw faults, as many of each kind as of the others."""
    os.environ["COVERAGE_FILE"] = str(out / "reached")
    failing = _pytest(ROOT, ["--cov=zoo", "--cov-context=test", "--cov-report=", "tests"], None)
    data = CoverageData(str(out / "reached"))
    data.read()
    reached: dict[Path, dict[int, set[str]]] = {}
    for file in (Path(name) for name in data.measured_files() if name.endswith(".py")):
        contexts = data.contexts_by_lineno(str(file)).items()
        by_line = {n: {c.rpartition("|")[0] for c in of if c} - {*failing} for n, of in contexts}
        reached[file] = {number: tests for number, tests in by_line.items() if tests}
    lines_of = Counter(t for of in reached.values() for tests in of.values() for t in tests)
    kinds: dict[str, list[Fault]] = defaultdict(list)
    for file, by_line in sorted(reached.items()):
        name = file.relative_to(ROOT).as_posix()
        for fault in faults_in(name, file.read_text(), {*by_line}):
            tests = sorted(by_line[fault.line], key=lambda test: (lines_of[test], test))
            kinds[fault.kind].append(replace(fault, tests=tests[:NEAREST]))
    rng = random.Random(0)
    each = -(-count // len(kinds))
    drawn = [f for _, faults in sorted(kinds.items()) for f in rng.sample(faults, each)]
    lines = (json.dumps(asdict(fault)) for fault in drawn[:count])
    (out / "faults.jsonl").write_text("".join(f"{line}\n" for line in lines))


def run(out: Path) -> str:
    """Try each fault that was not tried yet, in a copy of what is committed; then the table."""
    faults = [Fault(**json.loads(line)) for line in (out / "faults.jsonl").open()]
    file = out / "caught.jsonl"
    caught = [json.loads(line) for line in file.open()] if file.exists() else []
    with tempfile.TemporaryDirectory() as tree, file.open("a") as stream:
        subprocess.run(["git", "checkout-index", "-a", f"--prefix={tree}/"], cwd=ROOT, check=True)
        for fault in faults[len(caught) :]:
            caught.append(_first_failure(Path(tree), fault))
            print(json.dumps(caught[-1]), file=stream, flush=True)
            print(f"{fault}: {caught[-1] or 'not caught'}", flush=True)
    return table(faults, caught)


def table(faults: Sequence[Fault], caught: Sequence[str | None]) -> str:
    """Faults and those caught, by kind and by folder. caught: the test that did, of each."""
    rows: dict[str, list[bool]] = defaultdict(list)
    for fault, by in zip(faults, caught, strict=True):
        for group in (fault.kind, "/".join(fault.file.split("/")[:2]), "all"):
            rows[group].append(by is not None)
    ordered = sorted(rows.items(), key=lambda row: (row[0] == "all", row[0]))
    lines = [(name, len(f), sum(f), f"{sum(f) / len(f):.0%}") for name, f in ordered]
    left = [f"- {fault}" for fault, by in zip(faults, caught, strict=True) if by is None]
    head = ["faults in", "drawn", "caught", "share"]
    return "\n".join([tabulate(lines, head, "github"), "", "Not caught:", *left])


def _first_failure(tree: Path, fault: Fault) -> str | None:
    """The first test that fails with the fault in a tree; ``the run`` where pytest itself does."""
    file = tree / fault.file
    text = file.read_bytes()
    file.write_bytes(fault.applied(text))
    try:
        return next(iter(_pytest(tree, ["-x", "-n0", *fault.tests], LIMIT)), None)
    except subprocess.TimeoutExpired:
        return "the run"
    finally:
        file.write_bytes(text)


def _pytest(tree: Path, arguments: Sequence[str], limit: float | None) -> list[str]:
    """The tests that fail. Raises TimeoutExpired after so many seconds."""
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rfE", *arguments],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree), "COLUMNS": "1000"},
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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.power", description=__doc__)
    parser.add_argument("command", choices=["draw", "run"])
    parser.add_argument("out", type=Path, help="folder of all that is noted")
    parser.add_argument("--faults", type=int, default=300)
    options = parser.parse_args()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    if options.command == "draw":
        draw(out, options.faults)
    else:
        print(run(out))


if __name__ == "__main__":
    main()
