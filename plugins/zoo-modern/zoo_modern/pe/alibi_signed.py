"""Linear biases by signed offset."""

from __future__ import annotations

from torch import Tensor

from zoo import part
from zoo.components.pe.alibi import Alibi
from zoo_modern.pe.offsets import offsets, wide


@part(
    "pe",
    "alibi-signed",
    source="Press et al. 2022, section 3, https://arxiv.org/abs/2108.12409",
    adds=("directed",),
)
class SignedAlibi(Alibi):
    """Scores changed in proportion to the signed offset: later tokens favoured.

    score += slope · (j - i) (Press et al. 2022, section 3), for keys after the query too.

    In a causal model the same as ``alibi``. In an encoder later tokens are favoured, whatever the
    query: the sum of slope · j, and of a number that is the same for all keys.
    """

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        offset = offsets(q_positions, k_positions)
        return wide(self.slopes)[:, None, None] * offset[..., None, :, :]
