"""A model as one file that other runtimes read, and the comparison of its logits with the model's.

``torch.export`` records what the model computes, for batches and lengths of any size.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from zoo.components.tokens import Tokens
from zoo.data.batches import padded

INPUTS, OUTPUT = ("input_ids", "attention_mask"), "logits"
# How far a logit may be from the model's own: 1e-4, and 1e-5 of its value.
ABSOLUTE, RELATIVE = 1e-4, 1e-5
FIRST_ID = 2  # the smallest of made-up texts: neither padding nor the unknown token

Run = Callable[[Tensor, Tensor], Tensor]  # of ids and mask, int64 (B, L), to logits


class MaskedInput(nn.Module):
    """A model that takes what tokenizers give: ids, and a mask of real tokens."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Int64 (B, L), the mask with 1 for a real token and 0 for padding, to float32 logits."""
        logits: Tensor = self.model(input_ids, Tokens.of(attention_mask))
        return logits.float()


@dataclass(frozen=True)
class Format:
    """A kind of file. runtime: the package that opens it."""

    file: str
    runtime: str
    write: Callable[[ExportedProgram, Path], None]
    open: Callable[[Path], Run]


@dataclass(frozen=True)
class Comparison:
    """How far the logits of a file are from the model's own.

    runtime: what computed them, with its version. batches, longest: how many batches there were,
    and the tokens of their longest text. difference: the largest of a logit. predictions, other: of
    how many texts or tokens, and for how many another class is the likeliest.
    """

    runtime: str
    batches: int
    longest: int
    difference: float
    predictions: int
    other: int


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what torch warns of and prints: its own code, and the program of an error."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


@torch.no_grad()
@_quiet()
def write_program(
    model: nn.Module, vocab_size: int, max_length: int, form: Format, file: Path
) -> Comparison:
    """Write a model in evaluation mode, open what was written, and compare the two.

    Raises whatever torch and the runtime raise, and ValueError where the logits differ.
    """
    sizes = {0: Dim("batch"), 1: Dim("length", max=max_length) if max_length > 1 else None}
    ids, tokens = made_up([max_length, 1], vocab_size, seed=0)
    mask = real_tokens(ids, tokens)
    program = torch.export.export(
        MaskedInput(model), (ids, mask), dynamic_shapes=dict.fromkeys(INPUTS, sizes)
    )
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)  # paths of this machine, and most of a small file
    form.write(program, file)
    return compare(model, vocab_size, max_length, form, file)


@torch.no_grad()
@_quiet()
def compare(
    model: nn.Module,
    vocab_size: int,
    max_length: int,
    form: Format,
    file: Path,
    *,
    exactly: bool = True,
) -> Comparison:
    """Compare a file's logits with the model's, for made-up texts.

    Raises ValueError where they differ, if they must be ``exactly`` the same but for rounding.
    """
    run, batches = form.open(file), _lengths(max_length)
    largest, predictions, other = 0.0, 0, 0
    for seed, lengths in enumerate(batches, start=1):
        for own, exported in _logits(model, run, lengths, vocab_size, seed):
            difference = (exported - own).abs()
            if exactly and not bool((difference <= ABSOLUTE + RELATIVE * own.abs()).all()):
                raise ValueError(
                    f"its logits differ by {difference.max():.2g} from the model's, for texts of "
                    f"{', '.join(map(str, lengths))} tokens"
                )
            largest = max(largest, float(difference.max()))
            differs = exported.argmax(dim=-1) != own.argmax(dim=-1)
            predictions, other = predictions + differs.numel(), other + int(differs.sum())
    version = importlib.import_module(form.runtime).__version__
    runtime = f"{form.runtime} {version}"
    return Comparison(runtime, len(batches), max_length, largest, predictions, other)


@_quiet()
def quantize(file: Path) -> None:
    """Store the matrices of an ONNX file as int8; they are multiplied by int8, of a scale each."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(file, file, weight_type=QuantType.QInt8)


def _lengths(max_length: int) -> list[list[int]]:
    """The lengths of the texts of some batches: one text and several, padded and not."""
    half = max(1, max_length // 2)
    spread = [max(1, max_length * share // 7) for share in range(7, 0, -1)]
    return [[1], [half], [max_length], [1] * 3, [half] * 4, [max_length, 1], spread, spread[1:]]


def made_up(lengths: Sequence[int], vocab_size: int, seed: int) -> tuple[Tensor, Tokens]:
    """Texts of these lengths: int64 (B, L) of ids drawn from the vocabulary, and their tokens."""
    draw = np.random.default_rng(seed)
    first = min(FIRST_ID, vocab_size - 1)
    ids = [draw.integers(first, vocab_size, length).tolist() for length in lengths]
    return padded(ids, torch.device("cpu"))


def real_tokens(ids: Tensor, tokens: Tokens) -> Tensor:
    """The mask that an exported model takes: int64 (B, L)."""
    mask = tokens.attention_mask
    return torch.ones_like(ids) if mask is None else mask.long()


def _logits(
    model: nn.Module, run: Run, lengths: Sequence[int], vocab_size: int, seed: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Logits of real tokens (…, n), the model's and the file's.

    In the file's input padding stands behind the texts, before them, and on both sides.
    """
    ids, tokens = made_up(lengths, vocab_size, seed)
    mask, length = real_tokens(ids, tokens), ids.shape[1]
    own = model(ids, tokens).float()
    own = own if own.dim() == 2 else own[mask.bool()]  # a tagger's of padding mean nothing
    room = length - mask.sum(dim=1, keepdim=True)
    for before in (0 * room, room, room // 2):
        places = (torch.arange(length) - before) % length
        real = mask.gather(1, places)
        exported = run(ids.gather(1, places), real)
        yield own, exported if exported.dim() == 2 else exported[real.bool()]


def _write_torch(program: ExportedProgram, file: Path) -> None:
    torch.export.save(program, file)


def _open_torch(file: Path) -> Run:
    module: Run = torch.export.load(file).module()
    return module


def _write_onnx(program: ExportedProgram, file: Path) -> None:
    import onnx

    made: Any = torch.onnx.export(
        program, dynamo=True, verbose=False, input_names=INPUTS, output_names=[OUTPUT]
    )
    shape = zip(made.model.graph.inputs[0].shape, ("batch", "length"), strict=True)
    made.rename_axes({size.value: name for size, name in shape if isinstance(size.value, str)})
    proto = made.model_proto
    # Shapes between the operators, which onnxruntime's quantize_dynamic refuses.
    proto.graph.ClearField("value_info")
    onnx.save(proto, file)


def _open_onnx(file: Path) -> Run:
    import onnxruntime

    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])

    def run(ids: Tensor, mask: Tensor) -> Tensor:
        inputs = dict(zip(INPUTS, (ids.numpy(), mask.numpy()), strict=True))
        return torch.from_numpy(session.run([OUTPUT], inputs)[0])

    return run


FORMATS = {
    "onnx": Format("model.onnx", "onnxruntime", _write_onnx, _open_onnx),
    "torch": Format("model.pt2", "torch", _write_torch, _open_torch),
}
