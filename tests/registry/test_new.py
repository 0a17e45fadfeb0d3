"""``zoo new``: what it writes can be installed, is listed, and passes its own tests."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hatchling.builders.wheel import WheelBuilder
from sandbox import SitePackages, run_zoo

from zoo.registry import AXES
from zoo.registry.scaffold import STARTERS, plugin_files
from zoo.sweep.records import RecordFile

ALL = ",".join(f"zoo-my-{kind}" for kind in STARTERS)
QUICK = "--phases train --seeds 1 --set layers=1 --max-length 64"
SMALL = "--set dim=16,layers=1 --epochs 1 --max-length 16 --on inline".split()


def zoo_new(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run_zoo("new", *arguments, plugins="", cwd=cwd)


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZOO_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    """A folder in which a plug-in of every kind was written."""
    folder = tmp_path_factory.mktemp("written")
    for kind in STARTERS:
        done = zoo_new(kind, f"my-{kind}", "--into", ".", cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def installed(tmp_path_factory, written) -> SitePackages:
    """All of them installed, as written."""
    folder = tmp_path_factory.mktemp("installed")
    for project in sorted(written.glob("zoo-my-*")):
        list(WheelBuilder(str(project)).build(directory=str(folder)))
    site = SitePackages(folder / "site-packages")
    site.install(*folder.glob("*.whl"))
    return site


def test_every_kind_is_listed_and_shown_once_installed(installed):
    listed = json.loads(installed.zoo("list", "--json", plugins=ALL).stdout)
    owners = {f"{c['kind']}/{c['name']}": c["owner"] for c in listed}
    for kind in STARTERS:
        owner = {"distribution": f"zoo-my-{kind}", "version": "0.1.0"}
        assert owners[f"{kind}/my-{kind}"] == owner
        about = json.loads(installed.zoo("info", f"{kind}/my-{kind}", "--json", plugins=ALL).stdout)
        assert Path(about["file"]).name == f"{kind}.py"


@pytest.mark.slow
def test_its_own_tests_pass_as_written(installed, written):
    """All of them in one process, for torch is slow."""
    report = written / "report.xml"
    folders = [str(written / f"zoo-my-{kind}" / "tests") for kind in STARTERS]
    options = ["-q", "-p", "no:cacheprovider", "--import-mode=importlib", f"--junitxml={report}"]
    program = f"import sys, pytest; sys.exit(pytest.main({[*options, *folders]!r}))"
    done = installed.run("-c", program, plugins=ALL)
    assert done.returncode == 0, done.stdout
    cases = list(ElementTree.parse(report).iter("testcase"))
    assert not [case for case in cases if case.find("failure") is not None]
    for kind in STARTERS:
        conforms = [case for case in cases if f"[{kind}/my-{kind}:" in case.attrib["name"]]
        assert any(len(case) == 0 for case in conforms), kind  # passed, and not skipped


def test_all_of_them_make_one_model(installed):
    axes = [word for kind in AXES for word in (f"--{kind}", f"my-{kind}")]
    done = installed.zoo("bench", *axes, "--data", "newswire", "--plan", plugins=ALL)

    assert done.returncode == 0, done.stderr
    assert " to run, 0 skipped" in done.stdout


def test_what_it_writes_is_linted_and_typed(written):
    # Here the zoo is a first party among imports, and in a plug-in a third.
    for command in (["ruff", "check", "--ignore", "I001"], ["ruff", "format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", *command, "--isolated", "--line-length", "100", "."],
            capture_output=True,
            text=True,
            cwd=written,
            check=False,
        )
        assert done.returncode == 0, done.stdout


def test_it_says_what_to_do_next_and_so_does_its_readme(tmp_path, written):
    done = zoo_new("pe", "my-pe", "--into", "my plug-ins", cwd=tmp_path)

    check, bench = "zoo check pe/my-pe", f"zoo bench --pe my-pe,rope --data newswire {QUICK}"
    install = "pip install -e './my plug-ins/zoo-my-pe'"
    first, *commands = done.stdout.splitlines()
    assert first == "./my plug-ins/zoo-my-pe is written; now"
    assert commands == [f"  {line}" for line in (install, check, bench)]
    readme = (tmp_path / "my plug-ins" / "zoo-my-pe" / "README.md").read_text()
    assert f"    {check}\n" in readme
    assert f"    {bench}\n" in readme
    for kind in STARTERS:
        for file in (written / f"zoo-my-{kind}").rglob("*.*"):
            assert file.is_dir() or file.suffix == ".pyc" or "$" not in file.read_text(), file


@pytest.mark.parametrize("kind", ["attention", "data", "baseline", "task"])
def test_the_line_from_the_readme_trains_it(installed, written, tmp_path, kind):
    lines = (written / f"zoo-my-{kind}" / "README.md").read_text().splitlines()
    (bench,) = [line.split()[1:] for line in lines if line.startswith("    zoo bench")]
    data = "my-data(train=100, test=30)" if kind == "data" else "newswire(train=100, test=30)"
    # Not the line's own baseline, a bag of words, which takes longer than all else.
    small = [*SMALL, "--data", data, "--baseline", "my-baseline" if kind == "baseline" else "none"]

    out = str(tmp_path / "run")
    done = installed.zoo(*bench, *small, "--out", out, plugins=ALL)
    assert done.returncode == 0, done.stderr
    records = RecordFile(tmp_path / "run").read()
    assert {record.status for record in records} == {"ok"}
    assert any(f"my-{kind}" in f"{r.name} {r.task} {r.config['data']}" for r in records)


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("attention", "my-window", "MyWindow"),
        ("pool", "lambda", "Lambda"),  # a Python keyword is none in capital letters
    ],
)
def test_class_names_are_sensible(kind, name, expected):
    files = plugin_files(kind, name)
    (source,) = (text for file, text in files.items() if Path(file).name == f"{kind}.py")
    (defined,) = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef) and node.name == expected
    ]
    assert expected not in [base.id for base in defined.bases if isinstance(base, ast.Name)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["atention", "mine"], "zoo new writes no atention; did you mean 'attention'?"),
        (["executor", "mine"], "zoo new writes no executor. There is: attention, pe,"),
        (["metric", "f1.micro"], "illegal name 'f1.micro'"),
        (["norm", "My Norm"], "illegal name 'My Norm'"),
        (["norm", "2-norm"], "illegal name '2-norm'"),
        (["norm", ""], "illegal name ''"),
        (["norm", "../norm"], "illegal name '../norm'"),
        (["norm"], "Missing argument 'NAME'"),
    ],
)
def test_a_bad_request_is_one_line(tmp_path, arguments, message):
    done = zoo_new(*arguments, cwd=tmp_path)

    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("zoo new: error: ")
    assert message in line
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over(tmp_path):
    mine = tmp_path / "zoo-mine"
    mine.mkdir()
    (mine / "precious").write_text("mine")

    done = zoo_new("norm", "mine", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "zoo new: error: zoo-mine exists already; nothing is written over\n"
    assert [path.name for path in mine.iterdir()] == ["precious"]
