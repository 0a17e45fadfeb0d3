"""A cluster of two nodes; what takes minutes is run with ``-m slow``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from ray_nodes import RayCluster


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = "slow" in config.getoption("markexpr") or config.getoption("--slow", False)
    for item in items:
        if item.get_closest_marker("slow") and not wanted:
            item.add_marker(pytest.mark.skip(reason="slow; run with -m slow"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayCluster]:
    """A head and two nodes of one core each."""
    made = RayCluster(tmp_path_factory.mktemp("ray"))
    made.add("one")
    made.add("two")
    yield made
    made.close()
