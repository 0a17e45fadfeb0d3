"""A copy of the zoo's code that tests may change, and of which the hashes of records are made."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from zoo.registry import code_hash


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Iterator[Path]:
    """The folder of the copy."""
    copy = shutil.copytree(code_hash.PACKAGE, tmp_path_factory.mktemp("copy") / "zoo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code_hash, "PACKAGE", copy)
        forget()
        yield copy
    forget()


def forget() -> None:
    """Let the next hashes be of the code as it is then."""
    code_hash.zoo_modules.cache_clear()


@contextlib.contextmanager
def changed_file(file: Path, source: str | None) -> Iterator[None]:
    """Another source of a file, or none, for a while."""
    before = file.read_text()
    file.unlink() if source is None else file.write_text(source)
    forget()
    yield
    file.write_text(before)
    forget()
