"""Data of small runs, and a run on streamed ones."""

from pathlib import Path

import pytest
from code_copy import package
from small_run_fixtures import _isolated, book, corpus, drawing, small, small_disk
from streamed_data import PLUGIN

import zoo
from zoo.report.write import BenchResult

__all__ = ["_isolated", "book", "corpus", "drawing", "package", "small", "small_disk"]


@pytest.fixture(scope="package")
def symbols(tmp_path_factory) -> Path:
    """The file that registers ``first-symbol``."""
    file = tmp_path_factory.mktemp("plugin") / "streamed.py"
    file.write_text(PLUGIN)
    return file


@pytest.fixture(scope="package")
def streamed(symbols, tmp_path_factory, _isolated) -> BenchResult:
    """Two rows on these data, which nobody changes."""
    out, pe = tmp_path_factory.mktemp("streamed") / "out", "rope,none"
    return zoo.bench(pe=pe, data="first-symbol", plugins=symbols, on="inline", out=out)
