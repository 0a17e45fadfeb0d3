"""Pictures of components: what each token reads, what an encoding adds, an activation."""

from __future__ import annotations

import io
import re
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
from zoo.components.ffn.two_layer import TwoLayer
from zoo.components.layer_context import LayerContext
from zoo.components.pe.base import PositionalEncoding
from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.models.build import build_attention, build_ffn, build_position
from zoo.models.seeding import seeded
from zoo.registry import Component
from zoo.report.plots.plot import FAMILY, HUES, styled

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
_BLUE, _RED = "#0072b2", "#d55e00"
AMOUNT = LinearSegmentedColormap.from_list("amount", [f"{_BLUE}00", _BLUE])
SIGNED = LinearSegmentedColormap.from_list("signed", [_RED, f"{_RED}00", f"{_BLUE}00", _BLUE])
FONTS = "'DejaVu Sans', Verdana, sans-serif"
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
        match component.kind:
            case "attention":
                yield from _reads(component)
            case "pe":
                yield from _encoding(component)
            case "ffn":
                yield from _activation(component)


def _reads(component: Component) -> Iterator[Picture]:
    """Which tokens each output depends on, in an encoder and in a decoder."""
    choice = catalog().example(component)
    if shown := SHOWN.get(component.name):
        choice = catalog().choose("attention", shown)
    attention = build_attention(choice, SIZES, 0.0, PLACE).eval()
    position = _none(attention)
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
    yield _maps(f"{component.name}-reads", panels, caption, ("token read", "output"))


def _influence(attention: Attention, position: PositionalEncoding, *, causal: bool) -> Map:
    """(L, L): the norm of each output's gradient with respect to each input, rows scaled to 1."""
    # One copy of the text for each output: its own gradient is that of its copy.
    x = torch.randn(1, LENGTH, SIZES.dim).repeat(LENGTH, 1, 1).requires_grad_()
    y = attention(x, LayerContext(Tokens.whole(LENGTH), position, causal=causal))
    rows = torch.arange(LENGTH)
    found = torch.zeros(LENGTH, LENGTH)
    for direction in torch.randn(DRAWS, SIZES.dim):
        (gradient,) = torch.autograd.grad((y[rows, rows] @ direction).sum(), x, retain_graph=True)
        found += gradient.norm(dim=-1)
    scaled: Map = (found / found.amax(dim=1, keepdim=True)).double().numpy()
    return scaled


def _encoding(component: Component) -> Iterator[Picture]:
    """What the encoding adds to embeddings, does to a score, and adds to scores."""
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
        if choice.can("rotate"):
            yield _scores_by_offset(component, position, placed)
        if choice.can("bias") or choice.can("content-bias"):
            yield from _bias(component, position, placed[:LENGTH])


def _scores_by_offset(
    component: Component, position: PositionalEncoding, placed: Tensor
) -> Picture:
    """The score of a query with an equal key, by how far the key is away."""
    same = torch.ones(1, 1, len(placed), SIZES.dim // SIZES.heads)
    q, k = position.rotate(same, placed), position.rotate_keys(same, placed)
    scores = (q[0, 0, :1] @ k[0, 0].T)[0] / (q[0, 0, 0] @ k[0, 0, 0])
    figure = Figure(figsize=(4.2, 2.2))
    axes = figure.subplots()
    axes.plot(range(len(placed)), scores.numpy(), color=HUES[0])
    axes.set(xlabel="offset of the key", ylabel="score / score at 0")
    caption = "The score of a query with a key equal to it, by the distance between the two."
    return _picture(f"{component.name}-turns", figure, caption)


def _bias(component: Component, position: PositionalEncoding, placed: Tensor) -> Iterator[Picture]:
    """The bias on the scores of every head."""
    bias = position.bias(placed, placed)
    if bias is None:
        q, k = torch.randn(2, 1, SIZES.heads, LENGTH, SIZES.dim // SIZES.heads)
        bias = position.content_bias(q, k, placed, placed, None)
    if bias is None or not bool(bias.any()):  # learned, and 0 at first
        return
    heads = bias.reshape(-1, LENGTH, LENGTH)[: SIZES.heads].double().numpy()
    panels = [(f"head {number}" if len(heads) > 1 else "", one) for number, one in
              enumerate(heads, 1)]  # fmt: skip
    caption = (
        "What a newly built one adds to the score of each query (row) with each key (column): "
        "blue is positive, red negative, empty is 0; each head has a scale of its own."
    )
    yield _maps(f"{component.name}-bias", panels, caption, ("key", "query"))


def _activation(component: Component) -> Iterator[Picture]:
    """The function between the two matrices."""
    ffn = build_ffn(catalog().example(component), SIZES, 0.0, PLACE)
    if not isinstance(ffn, TwoLayer):
        return
    x = torch.linspace(-4, 4, 201)
    figure = Figure(figsize=(4.2, 2.4))
    axes = figure.subplots()
    axes.plot(x.numpy(), ffn.activation(x).detach().numpy(), color=HUES[0])
    axes.set(xlabel="x", ylabel="activation")
    yield _picture(f"{component.name}-activation", figure, "The activation, of one number.")


def _none(attention: Attention) -> PositionalEncoding:
    return build_position(catalog().choose("pe", "none"), SIZES, attention, PLACE)


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
    return _picture(name, figure, caption)


def _picture(name: str, figure: Figure, caption: str) -> Picture:
    # Fixed margins: a layout that fits itself takes twice as long to draw.
    width, height = figure.get_size_inches()
    sides = {"left": 0.6 / width, "right": 1 - 0.1 / width}
    figure.subplots_adjust(
        **sides, bottom=0.5 / height, top=1 - 0.25 / height, wspace=0.25, hspace=0.35
    )
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None})
    return Picture(name, re.sub(f"'?{FAMILY}'?", FONTS, written.getvalue()), caption)
