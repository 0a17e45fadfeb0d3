"""Invalid sizes are refused."""

import pytest
from pydantic import ValidationError

from zoo.config.sizes import Sizes


@pytest.mark.parametrize(
    "field", ["dim", "layers", "heads", "ffn_dim", "max_length", "vocab_size", "depth"]
)
def test_sizes_are_whole_numbers_above_zero_and_no_others(field):
    for value in (-1, 0, 1.5, "many", *([3] if field == "depth" else [])):
        with pytest.raises(ValidationError, match=field):
            Sizes(**{field: value})
