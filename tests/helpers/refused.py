"""What tests ask of a refusal: it is one line."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from zoo.errors import ZooError

Error = type[Exception]


def refused(
    says: str, action: Callable[..., Any], *given: Any, error: Error = ZooError, **options: Any
) -> Any:
    """The error with which a call is refused. says: a pattern that is found in its one line.

    What the call gives one by one is asked for to its end.
    """
    with pytest.raises(error, match=says or None) as caught:
        _to_its_end(action(*given, **options))
    assert "\n" not in str(caught.value)
    return caught.value


def _to_its_end(found: Any) -> None:
    if isinstance(found, Iterator):
        list(found)


def refusal(action: Callable[[], Any], error: Error = ZooError) -> str:
    """The one line with which the action is refused."""
    return str(refused("", action, error=error))
