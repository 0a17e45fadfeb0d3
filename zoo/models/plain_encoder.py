"""An encoder of registered parts as a plain torch module: ``zoo.build``."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.errors import ZooError
from zoo.models.build import StackOptions, build_classifier, build_stack
from zoo.models.stack import Encoder
from zoo.registry import AXES, Registry
from zoo.registry.cell import Cell

NEEDS = {"attention": frozenset({"padding"})}  # every token sees all others, padding apart


class PlainEncoder(nn.Module):
    """Takes ids and an attention mask, as modules of Transformers do."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Ids (B, L), and a mask (B, L) that is true where a token is real; None: all are.

        To vectors (B, L, D), of which those of padding mean nothing, or to logits (B, classes).
        """
        tokens = Tokens.whole(ids.shape[1], ids.device)
        if attention_mask is not None:
            tokens = Tokens(attention_mask.bool(), tokens.positions, in_order=True)
        output: Tensor = self.model(ids, tokens)
        return output


def plain_encoder(
    cell: Cell, sizes: Sizes, *, classes: int | None, dropout: float, seed: int
) -> PlainEncoder:
    """The encoder of a cell; with classes, a classifier with the cell's pool.

    Raises ZooError where the parts cannot be combined or refuse these sizes.
    """
    if obstacle := cell.refusal(sizes, NEEDS):
        raise ZooError(f"{cell} cannot be built: {obstacle}")
    options: StackOptions = {"vocab_size": sizes.vocab_size, "seed": seed, "dropout": dropout}
    try:
        if classes is None:
            return PlainEncoder(build_stack(Encoder, cell, sizes, **options))
        return PlainEncoder(build_classifier(cell, sizes, classes=classes, **options))
    except (ValueError, TypeError) as error:
        raise ZooError(f"{cell} cannot be built: {error}") from error


def cell_of(registry: Registry, parts: str | Mapping[str, str], default: Mapping[str, str]) -> Cell:
    """The cell of axis to component, or of names joined by + in the order of the axes.

    default: for axes that are not named. Raises ZooError for an axis or a name that does not exist.
    """
    if isinstance(parts, str):
        names = [name.strip() for name in parts.split("+")]
        if len(names) > len(AXES):
            raise ZooError(f"cell {parts}: {len(names)} names, and the axes are {', '.join(AXES)}")
        parts = dict(zip(AXES, names, strict=False))
    if unknown := [axis for axis in parts if axis not in AXES]:
        raise ZooError(f"no axis '{unknown[0]}'; there is {', '.join(AXES)}")
    return Cell.parse(registry, {axis: parts.get(axis, default[axis]) for axis in AXES})
