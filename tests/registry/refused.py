"""What the tests of the registry ask of a refusal."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from zoo.errors import ZooError


def refusal(action: Callable[[], object], error: type[Exception] = ZooError) -> str:
    """The one line with which the action is refused."""
    with pytest.raises(error) as caught:
        action()
    message = str(caught.value)
    assert "\n" not in message
    return message
