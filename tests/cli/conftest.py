"""The environment of commands that run in this process."""

from small_run_fixtures import _isolated, corpus, drawing, folder

__all__ = ["_isolated", "corpus", "drawing", "folder"]
