"""Data of small runs."""

from small_run_fixtures import _isolated, book, corpus, drawing

__all__ = ["_isolated", "book", "corpus", "drawing"]
