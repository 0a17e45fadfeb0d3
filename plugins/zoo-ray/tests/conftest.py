"""A cluster of two nodes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from ray_nodes import RayCluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayCluster]:
    """A head and two nodes of one core each."""
    made = RayCluster(tmp_path_factory.mktemp("ray"))
    made.add("one")
    made.add("two")
    yield made
    made.close()
