"""Models of one architecture, each with weights of its own, run as one batched program."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from zoo.components.tokens import Tokens
from zoo.models.folding import folded
from zoo.models.streams import ApartError, Dropout, Layout, Size, Streams, dropout_layouts


class Ensemble:
    """S modules (ids, tokens) -> logits whose weights are stacked along a leading dimension.

    parameters, buffers: name to stack (S, …), copies of the modules' own. What a module draws in
    training comes from its member's stream; a draw that is no dropout is an error.
    max_length: the most tokens that the modules take.
    """

    def __init__(self, models: Sequence[nn.Module], streams: Streams, max_length: int) -> None:
        self.models, self.streams = list(models), streams
        self.device = streams.device
        self.parameters, self.buffers = stack_module_state(self.models)
        self.training = True
        self._base = self.models[0]
        self._layouts: list[Layout] = dropout_layouts(self._base, max_length, self.device)
        self._members = torch.arange(len(self.models), device=self.device)

    def __len__(self) -> int:
        return len(self.models)

    def __call__(
        self, ids: Tensor, padding: Tensor | None, sizes: Sequence[Size] | None = None
    ) -> Tensor:
        """Ids and padding (S, B, L) to logits (S, B, classes).

        sizes: (texts, tokens) of each member's own batch, where the rest was padded to stand side
        by side; dropout is drawn for that much. None: nothing was.
        """
        own = [(ids.shape[1], ids.shape[2])] * len(self) if sizes is None else sizes
        positions = torch.arange(ids.shape[2], device=ids.device)

        def one(
            parameters: dict[str, Tensor],
            buffers: dict[str, Tensor],
            member: Tensor,
            ids: Tensor,
            padding: Tensor | None,
        ) -> Tensor:
            dropout = Dropout(self.streams, self._layouts, own, member)
            with folded(member, dropout, dropout.ours):
                logits: Tensor = functional_call(
                    self._base, (parameters, buffers), (ids, Tokens(padding, positions))
                )
            return logits

        self._base.train(self.training)
        in_dims = (0, 0, 0, 0, None if padding is None else 0)
        logits: Tensor = vmap(one, in_dims=in_dims, randomness="error")(
            self.parameters, self.buffers, self._members, ids, padding
        )
        return logits

    @torch.no_grad()
    def member(self, number: int) -> nn.Module:
        """One of the modules, with the weights that it has by now."""
        model = self.models[number]
        for name, tensor in (*model.named_parameters(), *model.named_buffers()):
            stack = self.parameters.get(name, self.buffers.get(name))
            assert stack is not None
            tensor.copy_(stack[number])
        return model


__all__ = ["ApartError", "Ensemble"]
