"""Bench the parts that a pull request changes against those of its base, and write a comment.

    python -m bench.pull_request --base origin/main --out build/pull-request [-- OPTION ...]

Both sides are benched by the same ``zoo bench`` with one change at a time, each with its own code.
Options after -- are added to it. DIR/comment.md has what ``zoo compare`` says of the two.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.docs.catalog import catalog
from zoo.config.request import Request
from zoo.registry import AXES

ROOT = Path(__file__).parents[1]
OPTIONS = "--design one-factor --data newswire --set layers=1 --max-length 64".split()
COMMENT = "comment.md"


def git(*arguments: str) -> str:
    """What it prints."""
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def changed_parts(files: Sequence[str]) -> dict[str, dict[str, str]]:
    """Kind to name to file, of the parts that these files define, as they are written for --KIND.

    files: relative to the repository.
    """
    registry, found = catalog(), dict[str, dict[str, str]]()
    for kind in AXES:
        for component in registry.components(kind):
            # An installed plug-in is elsewhere; its sources are here.
            module = f"{component.module.replace('.', '/')}.py"
            for home in ("", *(f"plugins/{folder.name}/" for folder in ROOT.glob("plugins/zoo-*"))):
                if f"{home}{module}" in files:
                    name = registry.label(component)
                    found.setdefault(kind, {})[name] = f"{home}{module}"
    return found


def bench(tree: Path, parts: Mapping[str, Sequence[str]], out: Path, more: Sequence[str]) -> str:
    """Bench these parts beside the default of their kind with the code of a tree; what it says."""
    choices = [word for kind, names in parts.items() for word in (f"--{kind}", ",".join(names))]
    command = [sys.executable, "-m", "zoo", "bench", *OPTIONS, *choices, *more, "--out", str(out)]
    plugins = sorted(map(str, tree.glob("plugins/zoo-*")))
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(tree), *plugins])}
    done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr, sep="\n")
    return done.stdout if done.returncode == 0 else f"failed: {done.stderr.strip()[-500:]}"


def comment(base: str, out: Path, more: Sequence[str]) -> str:
    """Bench both sides and return the comment."""
    start = git("merge-base", base, "HEAD")
    files = git("diff", "--name-only", start, "HEAD").splitlines()
    parts = changed_parts(files)
    if not parts:
        return "No attention, encoding, norm, network, block or pool is changed.\n"
    now = {
        kind: list(dict.fromkeys([str(Request.model_fields[kind].default), *names]))
        for kind, names in parts.items()
    }
    tree = out / "base"
    git("worktree", "add", "--force", "--detach", str(tree), start)
    try:
        there = git("ls-tree", "-r", "--name-only", start).splitlines()
        before = {
            kind: [name for name in names if parts[kind].get(name, there[0]) in there]
            for kind, names in now.items()
        }
        said = [bench(tree, before, out / "before", more), bench(ROOT, now, out / "now", more)]
    finally:
        git("worktree", "remove", "--force", str(tree))
    names = ", ".join(f"`{kind}/{name}`" for kind, of in parts.items() for name in of)
    lines = [f"## Benched: {names}", f"Before: {start[:12]}. Now: {git('rev-parse', 'HEAD')[:12]}."]
    failed = [f"{side}: {text}" for side, text in zip(("before", "now"), said, strict=True)
              if text.startswith("failed: ")]  # fmt: skip
    if failed:
        return "\n\n".join([*lines, *failed]) + "\n"
    command = [sys.executable, "-m", "zoo", "compare", "--markdown", "before", "now"]
    done = subprocess.run(command, cwd=out, capture_output=True, text=True, check=False)
    return "\n\n".join([*lines, done.stdout.strip() or done.stderr.strip()]) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.pull_request", description=__doc__)
    parser.add_argument("--base", required=True, help="the branch that the request is for")
    parser.add_argument("--out", type=Path, required=True, help="an empty directory")
    parser.add_argument("options", nargs="*", metavar="OPTION", help="of zoo bench")
    given = parser.parse_args(arguments)
    out = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    text = comment(given.base, out, given.options)
    (out / COMMENT).write_text(text, "utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
