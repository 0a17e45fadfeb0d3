"""The environment of commands that run in this process."""

from small_run_fixtures import _isolated, corpus, folder

__all__ = ["_isolated", "corpus", "folder"]
