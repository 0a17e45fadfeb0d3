"""Runs of small plug-ins draw no plots."""

from small_run_fixtures import drawing

__all__ = ["drawing"]
