"""Data of small runs."""

from small_run_fixtures import _isolated, book, corpus, drawing, small, small_disk

__all__ = ["_isolated", "book", "corpus", "drawing", "small", "small_disk"]
