"""The environment of commands that run in this process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="package", autouse=True)
def _environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An empty cache, and no installed plug-ins."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "ZOO_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setitem(os.environ, "ZOO_PLUGINS", "")
        yield


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
