"""Data of small runs."""

from __future__ import annotations

from small_run_fixtures import _isolated, book, corpus, small, small_disk

__all__ = ["_isolated", "book", "corpus", "small", "small_disk"]
