"""Pictures of components: what each token reads, and what an encoding adds."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray
from torch import Tensor

from bench.docs.catalog import catalog
from zoo.components.attention.base import Attention
from zoo.components.layer_context import LayerContext
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.models.build import build_attention, build_position
from zoo.models.seeding import seeded
from zoo.registry import Component
from zoo.report.plots.plot import HUES, styled

SIZES = Sizes(dim=32, heads=4, ffn_dim=64, layers=2, max_length=64)
PLACE = {"layer_index": 0, "layer_count": 2}
LENGTH = 24  # tokens of a map
SHOWN = {  # what a text of that length shows more of than with the default parameters
    "window": "window(size=4)",
    "nystrom": "nystrom(landmarks=6)",
    "linformer": "linformer(rank=6)",
    "top-k": "top-k(keys=4)",
}
DRAWS = 4  # random directions of an output whose gradients are averaged
_BLUE, _RED, *_ = HUES
AMOUNT = LinearSegmentedColormap.from_list("amount", [f"{_BLUE}00", _BLUE])
SIGNED = LinearSegmentedColormap.from_list("signed", [_RED, f"{_RED}00", f"{_BLUE}00", _BLUE])
Map = NDArray[np.float64]


@dataclass(frozen=True)
class Picture:
    """name: of its file. caption: how to read it."""

    name: str
    svg: str
    caption: str

    @property
    def markdown(self) -> str:
        """The picture and its caption."""
        return f"![{self.caption}]({self.name}.svg)\n\n*{self.caption}*"


def pictures(component: Component) -> Iterator[Picture]:
    """The pictures of a component; none where one would not help."""
    torch.set_num_threads(1)  # for tensors this small several are slower
    with styled(), seeded(0, f"pictures/{component.kind}/{component.name}"):
        if component.kind == "attention":
            yield _reads(component)
        elif component.kind == "pe":
            yield from _encoding(component)


def _reads(component: Component) -> Picture:
    """Which tokens each output depends on, in an encoder and in a decoder."""
    choice = catalog().example(component)
    if shown := SHOWN.get(component.name):
        choice = catalog().choose("attention", shown)
    attention = build_attention(choice, SIZES, 0.0, PLACE).eval()
    position = build_position(catalog().choose("pe", "none"), SIZES, attention, PLACE)
    panels = []
    if not choice.can("causal-only"):
        panels.append(("encoder", _influence(attention, position, causal=False)))
    if choice.can("causal"):
        panels.append(("causal", _influence(attention, position, causal=True)))
    caption = (
        f"What the output of each token (row) reads of each token (column) in "
        f"{shown or component.name}, with random weights and inputs: the norm of the gradient, "
        "darkest where it is largest in its row."
    )
    return _maps(f"{component.name}-reads", panels, caption, ("token read", "output"))


def _influence(attention: Attention, position: PositionalEncoding, *, causal: bool) -> Map:
    """(L, L): the norm of each output's gradient with respect to each input, rows scaled to 1."""
    # One copy of the text for each output: its own gradient is that of its copy.
    x = torch.randn(1, LENGTH, SIZES.dim).repeat(LENGTH, 1, 1).requires_grad_()
    y = attention(x, LayerContext(Tokens.whole(LENGTH), position, causal=causal))
    rows = torch.arange(LENGTH)
    influence = torch.zeros(LENGTH, LENGTH)
    for direction in torch.randn(DRAWS, SIZES.dim):
        (gradient,) = torch.autograd.grad((y[rows, rows] @ direction).sum(), x, retain_graph=True)
        influence += gradient.norm(dim=-1)
    scaled: Map = (influence / influence.amax(dim=1, keepdim=True)).double().numpy()
    return scaled


def _encoding(component: Component) -> Iterator[Picture]:
    """What the encoding adds to embeddings and to scores."""
    choice = catalog().example(component)
    fused = build_attention(catalog().choose("attention", "fused"), SIZES, 0.0, PLACE)
    position = build_position(choice, SIZES, fused, PLACE).eval()
    places, length = torch.arange(SIZES.max_length), SIZES.max_length
    with torch.no_grad():
        placed = position.place(places)
        if choice.can("embed"):
            added = position.embed(torch.zeros(1, length, SIZES.dim), placed)[0]
            caption = f"What is added to the embeddings: {length} positions, width {SIZES.dim}."
            panels = [("", added.T.double().numpy())]
            yield _maps(f"{component.name}-adds", panels, caption, ("position", "channel"))
        if choice.can("bias") or choice.can("content-bias"):
            yield from _bias(component, position, placed[:LENGTH])


def _bias(component: Component, position: PositionalEncoding, placed: Tensor) -> Iterator[Picture]:
    """The bias on the scores of every head."""
    bias = position.bias(placed, placed)
    if bias is None:
        q, k = torch.randn(2, 1, SIZES.heads, LENGTH, SIZES.dim // SIZES.heads)
        bias = position.content_bias(q, k, placed, placed, None)
    if bias is None or not bool(bias.any()):  # learned, and 0 at first
        return
    heads = bias.reshape(-1, LENGTH, LENGTH)[: SIZES.heads].double().numpy()
    panels = [(f"head {number}" if len(heads) > 1 else "", scores) for number, scores in
              enumerate(heads, 1)]  # fmt: skip
    caption = (
        "What a newly built one adds to the score of each query (row) with each key (column): "
        "blue is positive, red negative, empty is 0; each head has a scale of its own."
    )
    yield _maps(f"{component.name}-bias", panels, caption, ("key", "query"))


def _maps(
    name: str, panels: Sequence[tuple[str, Map]], caption: str, labels: tuple[str, str]
) -> Picture:
    """Heat maps, two beside each other; labels: of the columns and the rows."""
    rows, columns = panels[0][1].shape
    width = 2.0 if len(panels) > 1 else 2.3 * min(1.8, columns / rows)
    # Narrow enough to be read on a telephone, where the page makes a wider picture smaller.
    beside = min(2, len(panels))
    below = -(-len(panels) // beside)
    figure = Figure(figsize=(width * beside, (2.6 if below == 1 else 2.1) * below))
    grid = list(figure.subplots(below, beside, squeeze=False).flat)
    for axes in grid[len(panels) :]:
        axes.remove()
    for axes, (title, values) in zip(grid, panels, strict=False):
        signed, most = bool((values < 0).any()), float(np.abs(values).max())
        axes.imshow(
            values,
            cmap=SIGNED if signed else AMOUNT,
            vmin=-most if signed else 0,
            vmax=most,
            aspect="auto",
            interpolation="nearest",
        )
        axes.grid(visible=False)
        place = axes.get_subplotspec()
        axes.set(title=title, xlabel=labels[0] if place.is_last_row() else "",
                 ylabel=labels[1] if place.is_first_col() else "")  # fmt: skip
    # Fixed margins: a layout that fits itself takes twice as long to draw.
    wide, high = figure.get_size_inches()
    sides = {"left": 0.6 / wide, "right": 1 - 0.1 / wide, "top": 1 - 0.25 / high}
    figure.subplots_adjust(**sides, bottom=0.5 / high, wspace=0.25, hspace=0.35)
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None})
    return Picture(name, written.getvalue(), caption)
