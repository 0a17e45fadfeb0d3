"""Data of small runs."""

from code_copy import package
from small_run_fixtures import _isolated, book, corpus, drawing, small, small_disk

__all__ = ["_isolated", "book", "corpus", "drawing", "package", "small", "small_disk"]
