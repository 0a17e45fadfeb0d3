"""Data of small runs."""

from small_run_fixtures import _isolated, corpus, folder, small

__all__ = ["_isolated", "corpus", "folder", "small"]
