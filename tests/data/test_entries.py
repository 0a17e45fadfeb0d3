"""The cache: where it is, and what happens when it cannot be written."""

from pathlib import Path

import numpy as np
import pytest
from refused import refused

from zoo.data.cache import cache_directory, cached_entry, entry
from zoo.errors import WriteError, ZooError


def write(directory: Path) -> dict[str, str]:
    (directory / "file").write_text("whole")
    return {}


def test_the_place_is_that_of_the_variable_or_the_users(tmp_path, monkeypatch):
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "here"))
    assert cache_directory() == tmp_path / "here"
    monkeypatch.setenv("ZOO_CACHE", "~/there")
    assert cache_directory() == Path.home() / "there"
    monkeypatch.setenv("ZOO_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory().name == "encoder-zoo"


def test_a_build_that_fails_leaves_nothing_behind(tmp_path):
    def fail(directory: Path) -> dict[str, str]:
        write(directory)
        raise ZooError("no")

    refused("no", entry, "key", fail)
    assert [path.name for path in (tmp_path / "zoo-cache").iterdir() if path.is_dir()] == []
    assert entry("key", write) == cached_entry("key")


def test_a_cache_that_cannot_be_written_is_one_clear_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "file" / "cache"))
    refused(r"cannot write .*file/cache/key: Not a directory; set ZOO_CACHE", entry, "key", write)


def test_a_full_disk_is_said_of_arrays_too(small_disk, monkeypatch):
    """NumPy raises an error without the system's number."""

    def fill(directory: Path) -> dict[str, str]:
        np.save(directory / "array.npy", np.zeros(2**17))
        return {}

    monkeypatch.setenv("ZOO_CACHE", str(small_disk))
    with pytest.raises(WriteError, match=r"key: No space left on device"):
        entry("key", fill)
    assert [path.name for path in small_disk.iterdir()] == ["key.lock"]
