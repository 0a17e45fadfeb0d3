"""Data of small runs, for the conftest files of several rooms."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from small_runs import CLASSIFY, isolated, write_book, write_corpus


@pytest.fixture(scope="package", autouse=True)
def _isolated(tmp_path_factory) -> Iterator[None]:
    with isolated(tmp_path_factory.mktemp("cache")):
        yield


@pytest.fixture(scope="module", autouse=True)  # that of a package lasts until other rooms, too
def drawing() -> Iterator[Callable[..., None]]:
    """How matplotlib saves a plot. Nothing is drawn where nobody looks: it is half of a run."""
    from matplotlib.figure import Figure

    with pytest.MonkeyPatch.context() as patch:
        saved = Figure.savefig
        patch.setattr(Figure, "savefig", undrawn)
        yield saved


def undrawn(figure: Any, file: Any, *, format: str, **_: Any) -> None:
    file.write("<svg></svg>" if format == "svg" else b"")


@pytest.fixture(scope="package")
def corpus(tmp_path_factory) -> Path:
    """The directory of train.csv and test.csv, which nobody changes."""
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="package")
def book(tmp_path_factory) -> Path:
    """A text file, which nobody changes."""
    return write_book(tmp_path_factory.mktemp("book") / "book.txt")


@pytest.fixture
def small(corpus) -> dict[str, Any]:
    """The options of a small classification."""
    return {**CLASSIFY, "data": str(corpus)}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    mount = tmp_path / "disk"
    mount.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(mount)],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"cannot mount a tmpfs here: {done.stderr.decode().strip()}")
    yield mount
    subprocess.run(["umount", str(mount)], check=True)
