"""The rooms of zoo/: imports point one way, and no two modules import each other."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "zoo"
# From the ground up: a room may import itself and the rooms before it.
ROOMS = (
    "errors",
    "files",
    "config",
    "registry",
    "components",
    "data",
    "models",
    "training",
    "tasks",
    "measure",
    "execution",
    "sweep",
    "tracking",
    "report",
    "inference",
    "conformance",
    "testing",
    "sklearn",
    "api",
    "cli",
    "__main__",
)
# Of the rooms before it, report may read records and nothing else, and the ratios of their rounds
# as the measurement itself sees them.
REPORT_READS = {
    "zoo.errors",
    "zoo.files",
    "zoo.sweep.records",
    "zoo.config.settings",
    "zoo.config.claim",
    "zoo.config.metric_description",
    "zoo.config.row_names",
    "zoo.measure.turns",
}


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    paths = {}
    for file in PACKAGE.rglob("*.py"):
        if file.parent.name == "scaffold":  # `zoo new` copies them: they are plug-ins
            continue
        parts = ["zoo", *file.relative_to(PACKAGE).with_suffix("").parts]
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return paths


MODULES = modules()


def imports_of(source: str) -> Iterator[str]:
    """The zoo's modules that a source imports, for types alone and within functions too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] == "zoo")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "zoo":
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in MODULES else str(node.module)


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else "zoo"


def wrong_arrows(module: str, source: str) -> list[str]:
    """The imports of a module that point upwards, in words."""
    here = room(module)
    if here == "zoo":  # zoo/__init__.py offers names of all rooms, imported on first use
        return []
    wrong = []
    for imported in imports_of(source):
        there = room(imported)
        if there == "zoo":  # zoo.__version__
            continue
        if ROOMS.index(there) > ROOMS.index(here):
            wrong.append(f"{module} imports {imported}: {here} is below {there}")
        elif here == "report" and there != "report" and imported not in REPORT_READS:
            wrong.append(f"{module} imports {imported}: report reads records and nothing else")
    return wrong


def test_every_module_is_in_a_room():
    assert {room(name) for name in MODULES} - {"zoo"} == set(ROOMS)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_imports_point_one_way(name):
    assert wrong_arrows(name, MODULES[name].read_text(encoding="utf-8")) == []


def test_no_modules_import_each_other_in_a_circle():
    """Not for types alone either, and not late, within a function."""
    graph = {
        name: set(imports_of(file.read_text(encoding="utf-8"))) - {name, "zoo"}
        for name, file in MODULES.items()
        if name != "zoo"
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


def test_a_wrong_arrow_is_named():
    source = "def late():\n    from zoo.sweep.plan import make_plan\n"
    assert wrong_arrows("zoo.tasks.lm", source) == [
        "zoo.tasks.lm imports zoo.sweep.plan: tasks is below sweep"
    ]
    source = "from zoo.models.build import build_classifier\n"
    assert "report reads records" in wrong_arrows("zoo.report.rows", source)[0]


def test_no_two_files_have_one_name():
    """A reader who searches for a file name finds one file.

    Not counted: files named after a kind of component, one in each room that handles kinds one by
    one; the components themselves; and the command line, whose files are named after commands.
    """
    by_kind = {"base", "attention", "pe", "norm", "ffn", "block", "pool", "data", "baseline"}
    names: dict[str, list[str]] = {}
    for name, file in MODULES.items():
        if file.stem not in {"__init__", *by_kind} and room(name) not in ("components", "cli"):
            names.setdefault(file.stem, []).append(str(file.relative_to(PACKAGE)))
    assert {name: files for name, files in names.items() if len(files) > 1} == {}


TASK_NAMES = {"classify", "tag", "lm", "mlm", "seq2seq"}
# The default of --task, and the heading of a column.
MAY_NAME = {("zoo.config.request", "classify"), ("zoo.cli.predict", "tag")}


def test_no_code_knows_the_name_of_a_task():
    """Tasks are plug-ins: nothing but their own registration has their names."""
    names = {
        (name, node.value)
        for name, file in MODULES.items()
        if room(name) != "tasks"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in TASK_NAMES
    }
    assert names == MAY_NAME
