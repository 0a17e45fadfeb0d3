"""The commit that stands behind published lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from zoo.execution.machine import git_state


def code_commit() -> str:
    """The commit of the zoo's code; empty outside a checkout."""
    return written(git_state())


def written(git: Mapping[str, Any]) -> str:
    """A commit as lines hold it: with "+" where the code was changed since; empty for none."""
    return f"{git['commit']}{'+' if git['dirty'] else ''}" if git else ""


def commit_sentence(commits: Iterable[str]) -> str:
    """A sentence for below a table: the commits of its lines, each once and short."""
    short = [f"{commit[:12]}{commit[40:]}" for commit in dict.fromkeys(commits) if commit]
    return f"Commit: {', '.join(short) or 'unknown'}."
