"""Invalid sizes are refused."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from zoo.config.sizes import Sizes

FIELDS = ("dim", "layers", "heads", "ffn_dim", "max_length", "vocab_size")


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("value", [-1, 0, 1.5, "many"])
def test_sizes_are_whole_numbers_above_zero(field: str, value: object) -> None:
    with pytest.raises(ValidationError, match=field):
        Sizes(**{field: value})


def test_an_unknown_size_is_refused() -> None:
    with pytest.raises(ValidationError, match="depth"):
        Sizes(depth=3)


def test_sizes_do_not_change_once_made() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Sizes().dim = 3
