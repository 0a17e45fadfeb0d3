"""The workflow that benches a pull request: its steps are run on a clone with a changed part."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.pull_request import changed_parts

ROOT = Path(__file__).parents[2]
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "bench.yml").read_text())
TINY = (
    "--data 'newswire(train=60,test=30)' --max-length 16 --epochs 1 "
    "--set dim=16,heads=2,ffn_dim=32,vocab_size=300,batch_size=16 --phases train --seeds 2 "
    "--baseline none"
)


def steps() -> dict[str, dict[str, Any]]:
    return {step["name"]: step for step in WORKFLOW["jobs"]["bench"]["steps"] if "run" in step}


def test_parts_are_found_by_the_files_that_define_them():
    files = ["zoo/components/pe/alibi.py", "plugins/zoo-efficient/zoo_efficient/window.py"]
    found = changed_parts([*files, "README.md", "zoo/components/attention/base.py"])
    assert found == {"pe": {"alibi": files[0]}, "attention": {"window": files[1]}}


def test_the_first_step_installs_what_the_second_needs():
    words = steps()["Install"]["run"].split()
    assert words[:4] == ["pip", "install", "-c", "constraints.txt"]
    for path in (word for word in words if word.startswith("./")):
        assert (ROOT / path / "pyproject.toml").exists()


def run(command: str, folder: Path, **env: str) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder, env=os.environ | env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def codes(folder: Path) -> dict[str, dict[str, str]]:
    """Encoding to the hashes of the modules that its training depended on."""
    lines = (folder / "records.jsonl").read_text().splitlines()
    return {record["cell"]["pe"]: record["code"] for record in map(json.loads, lines)}


@pytest.fixture
def clone(tmp_path) -> Path:
    """This repository with a main branch, and a branch on which alibi counts half."""
    folder = tmp_path / "clone"
    tracked = run("git ls-files -z --cached --others --exclude-standard | tr '\\0' '\\n'", ROOT)
    for name in tracked.splitlines():
        if (ROOT / name).is_file() and not name.startswith("results/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    commit = "git -c user.name=a -c user.email=a@example.com commit -q"
    run(f"git init -q -b main && git add . && {commit} -m first && git switch -qc change", folder)
    file = folder / "zoo" / "components" / "pe" / "alibi.py"
    text = file.read_text()
    assert "return -self" in text
    file.write_text(text.replace("return -self", "return -0.5 * self"))
    run(f"{commit} -am second", folder)
    return folder


@pytest.mark.slow
def test_the_steps_bench_both_sides_and_hand_the_table_to_the_comment(clone):
    program = clone.parent / "bin" / "gh"  # keeps what it is given, for it would need a network
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$@" >"$GITHUB_STEP_SUMMARY.gh"\n')
    program.chmod(0o755)
    python = program.with_name("python")
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    summary = clone.parent / "summary"
    env = {"PATH": f"{program.parent}:{os.environ['PATH']}", "GITHUB_STEP_SUMMARY": str(summary)}
    run(f"{steps()['Bench']['run']} -- {TINY}", clone, BASE="main", **env)
    comment = steps()["Comment"]["run"]
    env |= {"NUMBER": "7", "GH_TOKEN": "none", "GITHUB_REPOSITORY": "ours/zoo"}
    run(comment, clone, HEAD="a-fork/zoo", **env)
    called = summary.with_name("summary.gh")
    assert not called.exists(), "a fork has no right to comment"
    run(comment, clone, HEAD="ours/zoo", **env)
    text = summary.read_text()
    assert text.startswith("## Benched: `pe/alibi`")
    assert all(f"| {pe} " in text for pe in ("alibi", "rope"))
    before, now = (codes(clone / "build" / "pull-request" / side) for side in ("before", "now"))
    assert before["rope"] == now["rope"]
    assert {name for name, code in now["alibi"].items() if code != before["alibi"][name]} == {
        "components/pe/alibi.py"
    }, "each side has its own code"
    command = "pr comment 7 --body-file build/pull-request/comment.md"
    assert called.read_text().startswith(command)
