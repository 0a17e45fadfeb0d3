"""The environment of commands that run in this process."""

from __future__ import annotations

from small_run_fixtures import _isolated, corpus, folder

__all__ = ["_isolated", "corpus", "folder"]
