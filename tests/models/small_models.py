"""Small models, token ids for them, and their weights copied into torch's modules."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest
import torch
from references import canonical
from torch import Tensor, nn

from zoo.components.attention.split import Split
from zoo.components.block.base import Block
from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.models.architectures import Classifier, EncoderDecoder, LanguageModel
from zoo.models.build import (
    build_classifier,
    build_encoder_decoder,
    build_language_model,
)
from zoo.models.decoding import Decoding, Generation, generate, transduce
from zoo.registry import Registry
from zoo.registry.cell import Cell

USUAL = {
    "attention": "fused",
    "pe": "rope",
    "norm": "layer",
    "ffn": "relu",
    "block": "pre",
    "pool": "mean",
}
SMALL = {"dim": 8, "layers": 2, "heads": 2, "ffn_dim": 12, "max_length": 16}
VOCABULARY, CLASSES = 20, 3
CACHING = ("single", "naive", "split", "packed", "fused")
ATTENTIONS = (*CACHING, "torch")
ENCODINGS = ("none", "sin", "learned", "rope", "alibi")
BLOCKS = ("pre", "post", "res-post", "bare")
M = TypeVar("M")


class Stubborn(Split):
    """An attention, perhaps of a fixed length, that cannot take a context other than x."""

    def __init__(
        self, dim: int, heads: int, *, dropout: float = 0.0, max_length: int | None = None
    ) -> None:
        super().__init__(dim, heads, dropout=dropout)
        self.max_length = max_length

    def forward(self, x: Tensor, layer: LayerContext) -> Tensor:
        if layer.context is not None:
            raise RuntimeError("no context but x")
        return super().forward(x, layer)


def _small(build: Callable[..., M], registry: Registry, changes: dict[str, Any]) -> M:
    names = {axis: changes.pop(axis, usual) for axis, usual in USUAL.items()}
    sizes = {key: changes.pop(key) for key in list(changes) if key in SMALL}
    options = {"vocab_size": VOCABULARY, "seed": 0, **changes}
    return build(Cell.parse(registry, names), Sizes(**{**SMALL, **sizes}), **options)


def classifier(registry: Registry, **changes: Any) -> Classifier:
    """A small one of the usual cell, except for the choices, sizes and options named."""
    return _small(build_classifier, registry, {"classes": CLASSES, **changes})


def language_model(registry: Registry, **changes: Any) -> LanguageModel:
    """Likewise."""
    return _small(build_language_model, registry, changes)


def encoder_decoder(registry: Registry, **changes: Any) -> EncoderDecoder:
    """Likewise."""
    return _small(build_encoder_decoder, registry, changes)


def pairwise(axes: dict[str, Sequence[str]]) -> list[dict[str, str]]:
    """Few cells in which any two choices of different axes occur together at least once."""

    def possible(cell: dict[str, str]) -> bool:
        return not (cell.get("attention") == "torch" and cell.get("pe") == "rope")

    choices = [(axis, name) for axis, names in axes.items() for name in names]
    pairs = [dict(pair) for pair in itertools.combinations(choices, 2) if pair[0][0] != pair[1][0]]
    missing = [frozenset(pair.items()) for pair in pairs if possible(pair)]
    cells = []
    while missing:
        cell = dict(missing[0])
        for axis in axes:
            if axis not in cell:
                cell[axis] = max(
                    (name for name in axes[axis] if possible(cell | {axis: name})),
                    key=lambda name: sum(
                        frozenset({(axis, name), other}) in missing for other in cell.items()
                    ),
                )
        covered = {frozenset(pair) for pair in itertools.combinations(cell.items(), 2)}
        missing = [pair for pair in missing if pair not in covered]
        cells.append({axis: cell[axis] for axis in axes})
    return cells


def cells_of(axes: dict[str, Sequence[str]]) -> Any:
    """A test's parameter ``cell``: every cell of ``pairwise``."""
    return _cells(pairwise(axes))


def few_cells_of(axes: dict[str, Sequence[str]], rounds: int = 1) -> Any:
    """The same with few cells: every choice occurs at least once, in each round beside others."""
    most = max(map(len, axes.values()))
    cells = []
    for number, start in itertools.product(range(rounds), range(most)):
        cell = {
            axis: names[(start + number * place) % len(names)]
            for place, (axis, names) in enumerate(axes.items())
        }
        if cell.get("attention") == "torch" and cell.get("pe") == "rope":
            cell["pe"] = "alibi"
        cells.append(cell)
    return _cells(cells)


def _cells(cells: Sequence[dict[str, str]]) -> Any:
    return pytest.mark.parametrize("cell", cells, ids=lambda cell: "+".join(cell.values()))


def some_ids(*shape: int, seed: int = 0, vocabulary: int = VOCABULARY) -> Tensor:
    """Token ids, none of them 0."""
    return torch.randint(1, vocabulary, shape, generator=torch.Generator().manual_seed(seed))


def padded(texts: list[list[int]], side: str, garbage: int = 7) -> tuple[Tensor, Tokens]:
    """A batch of texts, padded with a token that must not matter; positions count real tokens."""
    width = max(len(text) for text in texts)
    ids = torch.full((len(texts), width), garbage)
    attention_mask = torch.zeros(len(texts), width, dtype=torch.bool)
    positions = torch.zeros(len(texts), width, dtype=torch.long)
    for row, text in enumerate(texts):
        start = {"right": 0, "left": width - len(text), "both": (width - len(text)) // 2}[side]
        place = slice(start, start + len(text))
        ids[row, place], attention_mask[row, place] = torch.tensor(text), True
        positions[row, place] = torch.arange(len(text))
    return ids, Tokens(attention_mask, positions, in_order=side == "right")


def assert_generations(ours: list[Generation], expected: list[Generation]) -> None:
    """The same tokens, and the same probability of them."""
    assert [(text.ids, text.ended) for text in ours] == [
        (text.ids, text.ended) for text in expected
    ]
    for text, other in zip(ours, expected, strict=True):
        assert text.log_probability == pytest.approx(other.log_probability, abs=1e-9)


def write(
    model: LanguageModel | EncoderDecoder, ids: Tensor, mask: Tensor | None = None, **options: Any
) -> list[Generation]:
    """Texts that go on from prompts, or translations that begin with token 1."""
    decoding = Decoding(**options)
    if not isinstance(model, LanguageModel):
        return transduce(model, ids, decoding, start=1, attention_mask=mask)
    prompts = [ids]
    if mask is not None:
        prompts = [text[real][None] for text, real in zip(ids, mask, strict=True)]
    return [generation for prompt in prompts for generation in generate(model, prompt, decoding)]


def assert_cache_changes_nothing(
    model: LanguageModel | EncoderDecoder, ids: Tensor, mask: Tensor | None = None, **options: Any
) -> None:
    with_cache, without = (write(model, ids, mask, cache=c, **options) for c in (True, False))
    assert_generations(with_cache, without)


def copy_block(ours: Block, theirs: nn.Module) -> None:
    """A block's weights into torch.nn.TransformerEncoderLayer or TransformerDecoderLayer."""
    norms = [ours.attention_norm, ours.ffn_norm]
    attentions = [(ours.attention, theirs.self_attn)]
    if ours.cross is not None:
        norms.insert(1, ours.cross_norm)
        attentions.append((ours.cross, theirs.multihead_attn))
    with torch.no_grad():
        for source, to in attentions:
            weights = canonical(source)
            to.in_proj_weight.copy_(torch.cat([weights["wq"], weights["wk"], weights["wv"]]))
            to.in_proj_bias.copy_(torch.cat([weights["bq"], weights["bk"], weights["bv"]]))
            to.out_proj.weight.copy_(weights["wo"])
            to.out_proj.bias.copy_(weights["bo"])
        for number, norm in enumerate(norms, start=1):
            copy_norm(norm, getattr(theirs, f"norm{number}"))
        theirs.linear1.load_state_dict(ours.ffn.inner.state_dict())
        theirs.linear2.load_state_dict(ours.ffn.outer.state_dict())


def copy_norm(ours: nn.Module, theirs: nn.Module) -> None:
    """A layer norm's weights into torch.nn.LayerNorm."""
    with torch.no_grad():
        theirs.weight.copy_(ours.scale)
        theirs.bias.copy_(ours.shift)


def load_norm(ours: nn.Module, theirs: nn.Module, scale: float = 1.0) -> None:
    """The weights of a torch.nn.LayerNorm, so many times as large, into a layer norm."""
    with torch.no_grad():
        ours.scale.copy_(theirs.weight * scale)
        ours.shift.copy_(theirs.bias * scale)
