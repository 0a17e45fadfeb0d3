"""The page for authors says what the program does, and its commands work as typed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from page import PAGE, generated, hooks, rewritten, signature
from sandbox import Sandbox, make_sandbox

from zoo.registry import CAPABILITIES, KINDS

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


def sandbox_with_the_pages_file(folder: Path) -> Sandbox:
    """An environment, and beside it the file that the page has its reader write."""
    (folder / "my_cosine.py").write_text(blocks("python")[0], "utf-8")
    return make_sandbox(folder / "env")


# What makes a command cheap enough for every day; the slow test runs them as they are.
LESS = {
    ("zoo", "check"): ["--only", "contract"],
    ("zoo", "bench"): ["--plan"],
    ("pytest",): ["-k", "contract"],
}
SMALL = ["--dim", "16", "--layers", "1", "--heads", "2", "--max-length", "16", "--seeds", "1"]


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_pages_commands_work_as_typed(tmp_path: Path, whole: bool) -> None:
    sandbox = sandbox_with_the_pages_file(tmp_path)
    commands = [line for block in blocks("console") for line in block.splitlines()]
    assert len(commands) >= 8
    for command in commands:
        program, *arguments = shlex.split(command)
        if program == "pip":
            assert arguments[:2] == ["install", "-e"]
            sandbox.install(tmp_path / arguments[2], editable=True)
            continue
        if not whole:
            for start, less in LESS.items():
                if (program, *arguments)[: len(start)] == start:
                    arguments += less
        elif arguments[0] == "bench":
            arguments += [*SMALL, "--phases", "trials"]
        done = sandbox.run("-m", program, *arguments, cwd=tmp_path)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def test_the_pages_test_is_one_that_passes(tmp_path: Path) -> None:
    sandbox = sandbox_with_the_pages_file(tmp_path)
    test = blocks("python")[-1].replace(
        '"attention/my-window", "attention/my-window(sharpness=2.0)"',
        '"attention/my-cosine", plugin="my_cosine.py"',
    )
    assert "plugin=" in test
    (tmp_path / "test_page.py").write_text(test, "utf-8")
    only = ["-k", "shape-and-dtype or padding-invariance", "-p", "no:cacheprovider"]
    done = sandbox.run("-m", "pytest", "-q", *only, "test_page.py", cwd=tmp_path)

    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_the_statuses_are_those_of_zoo_plugins() -> None:
    for status in ("ok", "clash", "partial", "failed", "blocked"):
        assert f"| `{status}` |" in TEXT
