"""Data of small runs."""

from small_run_fixtures import _isolated, corpus, drawing, folder, small

__all__ = ["_isolated", "corpus", "drawing", "folder", "small"]
