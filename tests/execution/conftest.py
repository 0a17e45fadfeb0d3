"""Data of small runs, and clusters to run them on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ray_nodes import RayCluster
from small_run_fixtures import _isolated, book, corpus, small
from test_cluster_nodes import ONE_CELL

__all__ = ["_isolated", "book", "corpus", "small"]


@pytest.fixture(scope="module")
def ray_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayCluster]:
    """A head and two nodes, of which one has two GPUs by Ray's books."""
    made = RayCluster(tmp_path_factory.mktemp("ray"))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
            patch.setenv(name, made.environment[name])
        made.add("one", 1)
        made.add("two", 2, gpus=2)
        yield made
    made.close()


@pytest.fixture
def ray_options(small: dict[str, Any]) -> dict[str, Any]:
    return {**small, **ONE_CELL, "attention": "fused,naive", "device": "cpu", "jobs": 2}
