"""A rotary encoding of positions drawn at random from a longer range."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo import part
from zoo.components.pe.rope import Rotary


@part(
    "pe",
    "rope-random",
    source="Ruoss et al. 2023, section 3, https://arxiv.org/abs/2305.16843",
    adds=("random",),
)
class RandomRotary(Rotary):
    """A rotary encoding of positions drawn at random from a longer range.

    RoPE of sorted numbers drawn from 0 .. simulated - 1 without replacement, one for each token.

    Ruoss et al. 2023, Randomized Positional Encodings, section 3. Texts of ``length`` tokens (None:
    max_length) so show in training the offsets of texts of up to ``simulated`` tokens. A draw
    serves one step of the optimizer, all texts and all layers. A shorter text has the first of its
    numbers; a longer one goes on with the same numbers plus ``simulated``. The paper draws in
    evaluation too; here positions are then multiplied by simulated / max_length, about the mean of
    a draw, so that a model gives the same answer every time.
    """

    drawn: Tensor

    def __init__(
        self,
        *,
        dim: int,
        heads: int,
        head_dim: int,
        max_length: int,
        simulated: int = 2048,
        length: int | None = None,
        base: float = 10000.0,
    ) -> None:
        super().__init__(dim=dim, heads=heads, head_dim=head_dim, max_length=max_length, base=base)
        length = max_length if length is None else length
        if not 1 <= length <= simulated or max_length > simulated:
            raise ValueError(
                f"simulated must be at least as large as the maximum length of {max_length} "
                f"and the length of {length}, which must be 1 or more, not {simulated}"
            )
        self.simulated, self.spacing = simulated, simulated / max_length
        # In the state_dict, so that a resumed training goes on with the same draw.
        self.register_buffer("drawn", torch.arange(length))
        self.after_step()

    @torch.no_grad()
    def after_step(self) -> None:
        """Draw the positions of the next step."""
        order = torch.randperm(self.simulated, device=self.drawn.device)
        self.drawn.copy_(order[: len(self.drawn)].sort().values)

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        return super().rotate(x, self.spread(positions))

    def spread(self, positions: Tensor) -> Tensor:
        """Positions (L) or (B, L), below max_length, to positions below ``simulated``."""
        if not self.training:
            return positions * self.spacing
        again, place = positions // len(self.drawn), positions % len(self.drawn)
        return self.drawn[place] + self.simulated * again
