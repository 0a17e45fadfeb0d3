"""The page for authors says what the program does, and its commands work as typed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from page import PAGE, generated, hooks, rewritten, signature
from sandbox import SitePackages

from zoo.cli import main
from zoo.registry import CAPABILITIES, KINDS
from zoo.sweep.records import RecordFile

TEXT = PAGE.read_text("utf-8")


def blocks(language: str) -> list[str]:
    """The page's fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def test_every_hook_stands_on_the_page_with_its_exact_signature() -> None:
    assert hooks()
    for name, hook in hooks().items():
        assert signature(hook, name=name) in TEXT


@pytest.mark.parametrize("kind", CAPABILITIES)
def test_every_capability_stands_on_the_page(kind: str) -> None:
    for name, meaning in CAPABILITIES[kind].items():
        assert f"| {kind} | `{name}` | {meaning} |" in TEXT, "run: python tests/registry/page.py"


@pytest.mark.parametrize("kind", KINDS)
def test_every_contract_stands_on_the_page(kind: str) -> None:
    assert f"\n**{kind}** — " in TEXT


def test_what_is_generated_is_up_to_date() -> None:
    for name in generated():
        assert f"<!-- generated: {name} -->" in TEXT
    assert rewritten(TEXT) == TEXT, "run: python tests/registry/page.py"


# What makes a command cheap enough. Every check of what `zoo new` writes is run in test_new.py.
LESS = {
    ("zoo", "check", "attention/my-window"): ["--only", "contract"],
    ("pytest", "zoo-my-window"): ["-k", "contract"],
}
LESS_IN_A_QUICK_RUN = {
    ("zoo", "check", "--plugin"): ["--only", "contract"],
    ("zoo", "bench"): ["--plan"],
}
SMALL = ["--dim", "16", "--layers", "1", "--heads", "2", "--max-length", "16", "--seeds", "1"]
FEW = ["--data", "newswire(train=100, test=30)", "--phases", "train", "--epochs", "1"]


def test_the_pages_commands_work_as_typed(
    tmp_path: Path, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("my_cosine.py").write_text(blocks("python")[0], "utf-8")
    site = SitePackages(tmp_path / "site-packages")
    in_full = {("zoo", "bench"): [*SMALL, *FEW, "--on", "inline"]}
    less = LESS | (in_full if pytestconfig.getoption("--slow") else LESS_IN_A_QUICK_RUN)
    lines = [line for block in blocks("console") for line in block.splitlines()]
    assert len(lines) >= 8
    for line in lines:
        words = shlex.split(line)
        used = {start for start in less if tuple(words[: len(start)]) == start}
        arguments = [*words[1:], *(word for start in used for word in less[start])]
        if words[0] == "pip":
            assert arguments[0] == "install"
            site.pip_install(*arguments[1:])
        elif words[0] == "zoo":
            # All in this process, because importing torch takes seconds.
            done = site.zoo(*arguments)
            assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        else:
            done = site.run("-m", *words[:1], *arguments, cwd=tmp_path)
            assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


def test_the_pages_task_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "balanced.py"
    file.write_text(next(block for block in blocks("python") if "class Balanced" in block), "utf-8")
    assert main(["check", "--plugin", str(file), "task/balanced", "metric/balanced_accuracy"]) == 0
    bench = ["bench", "--plugin", str(file), "--task", "balanced", "--on", "inline", *SMALL]
    assert main([*bench, *FEW, "--out", str(tmp_path / "out")]) == 0
    record = RecordFile(tmp_path / "out").read()[0]
    assert record.metric_descriptions[0].label == "balanced accuracy"
    # The key follows the code of the metric, whose plug-in the record names.
    assert "balanced.py" in record.plugins
    file.write_text(
        file.read_text("utf-8").replace("return float(", "return 0.5 * float("), "utf-8"
    )
    assert main([*bench, *FEW, "--out", str(tmp_path / "out")]) == 0
    names = {r.name for r in RecordFile(tmp_path / "out").read()}
    assert len({r.key for r in RecordFile(tmp_path / "out").read()}) == 2 * len(names) > 2


def test_the_pages_test_is_one_that_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_cosine.py").write_text(blocks("python")[0], "utf-8")
    monkeypatch.chdir(tmp_path)
    test = blocks("python")[-1].replace(
        '"attention/my-window", "attention/my-window(sharpness=2.0)"',
        '"attention/my-cosine", plugin="my_cosine.py"',
    )
    assert "plugin=" in test
    page: dict[str, Any] = {}
    exec(test, page)
    (mark,) = page["test_conforms"].pytestmark
    assert mark.args[0] == "check"
    checks = {check.name: check for check in mark.args[1]}
    for name in ("shape-and-dtype", "padding-invariance"):
        page["test_conforms"](checks[name])


def test_the_statuses_are_those_of_zoo_plugins() -> None:
    for status in ("ok", "clash", "partial", "failed", "blocked"):
        assert f"| `{status}` |" in TEXT
