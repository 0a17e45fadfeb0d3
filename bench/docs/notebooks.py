"""The tutorials: scripts with cells, executed as notebooks and written as pages.

An executed notebook is kept, and made again where its text or the zoo's code has changed.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbconvert import MarkdownExporter
from nbconvert.preprocessors import CoalesceStreamsPreprocessor

from bench.docs.place import CACHE, ROOT, SOURCES
from zoo.registry.code_hash import PACKAGE, hash_of

TUTORIALS = SOURCES / "tutorials"
SECONDS = 900  # that one cell may take, on a busy machine too
PANDAS_STYLE = re.compile(r"<style scoped>.*?</style>\n", re.DOTALL)


def tutorials() -> list[Path]:
    """The scripts, in the order of their numbers."""
    return sorted(TUTORIALS.glob("*.py"))


def executed(script: Path) -> nbformat.NotebookNode:
    """The script as a notebook with its outputs. Raises CellExecutionError where a cell fails."""
    key = hashlib.sha256(script.read_bytes() + hash_of(PACKAGE).encode()).hexdigest()[:16]
    kept = CACHE / f"{script.stem}-{key}.ipynb"
    if kept.exists():
        return nbformat.read(kept, as_version=4)
    notebook = jupytext.read(script)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    # The kernel inherits these: the zoo of this repository, and one thread for small models.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.getenv("PYTHONPATH")]))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    resources = {"metadata": {"path": str(ROOT)}}
    client = NotebookClient(notebook, timeout=SECONDS, resources=resources)
    client.create_kernel_manager().transport = "ipc"  # no port is opened
    client.execute()
    CACHE.mkdir(parents=True, exist_ok=True)
    for old in CACHE.glob(f"{script.stem}-*.ipynb"):
        old.unlink()
    nbformat.write(notebook, kept)
    return notebook


def notebook_pages() -> Iterator[tuple[str, str | bytes]]:
    """Path and content of each page, its pictures, and the notebook to download.

    Notebooks of docs/ itself are shown with the outputs that they have; a test runs them.
    """
    for script in tutorials():
        yield from _pages(f"tutorials/{script.stem}", executed(script))
    for file in sorted(SOURCES.glob("*.ipynb")):
        yield from _pages(file.stem, nbformat.read(file, as_version=4))


def _pages(place: str, notebook: nbformat.NotebookNode) -> Iterator[tuple[str, str | bytes]]:
    folder, _, name = place.rpartition("/")
    resources = {"output_files_dir": f"{name}_files"}
    exporter = MarkdownExporter()
    # Of a progress bar, which is written again and again over itself, the last state.
    exporter.register_preprocessor(CoalesceStreamsPreprocessor, enabled=True)
    text, resources = exporter.from_notebook_node(notebook, resources)
    yield f"{place}.md", f"{plain_tables(text)}\n[This page as a notebook]({name}.ipynb)\n"
    yield f"{place}.ipynb", nbformat.writes(notebook)
    for path, content in resources["outputs"].items():
        yield f"{folder}/{path}".lstrip("/"), content


def plain_tables(text: str) -> str:
    """The text with tables of pandas like any other: the site styles and scrolls those.

    Theirs are black on dark pages, and on narrow ones wider than the page.
    """
    return PANDAS_STYLE.sub("", text).replace('<table border="1" class="dataframe">', "<table>")
