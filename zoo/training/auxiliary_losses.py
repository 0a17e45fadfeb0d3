"""The losses that a model's parts add to its task's loss in training."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from zoo.components.layer_context import AuxiliaryLoss
from zoo.models.architectures import DeepEnsemble
from zoo.models.stack import Stack


class AuxiliaryLosses:
    """Collects what the layers of a model add (``LayerContext.add_loss``), and their means."""

    def __init__(self, model: nn.Module) -> None:
        self.stacks = [module for module in model.modules() if isinstance(module, Stack)]
        # An ensemble's loss is the mean of its members', so theirs are averaged as well.
        self.share = 1 / len(model.members) if isinstance(model, DeepEnsemble) else 1.0
        self.sums: dict[str, Tensor] = {}

    @contextmanager
    def collected(self) -> Iterator[list[AuxiliaryLoss]]:
        """The list that the model's passes inside of the block add to."""
        found: list[AuxiliaryLoss] = []
        for stack in self.stacks:
            stack.losses = found
        try:
            yield found
        finally:
            for stack in self.stacks:
                stack.losses = None

    def total(self, loss: Tensor, found: list[AuxiliaryLoss], items: int) -> Tensor:
        """The loss (scalar) of a batch plus weight · value of each that was found.

        items: by how much the batch counts in the means.
        """
        values: dict[str, list[Tensor]] = {}
        for one in found:
            loss = loss + self.share * one.weight * one.value
            values.setdefault(one.name, []).append(one.value.detach().float())
        for name, several in values.items():
            # Over the layers, and the members of an ensemble, that add it.
            self.sums[name] = self.sums.get(name, 0.0) + torch.stack(several).mean() * items
        return loss

    def means(self, items: int) -> dict[str, float]:
        """The mean of each unweighted loss over batches of so many items; begins anew."""
        if not self.sums:
            return {}
        values = (torch.stack(list(self.sums.values())) / items).tolist()
        means = dict(zip(self.sums, values, strict=True))
        self.sums = {}
        return means
