"""The state of a training on disk, and the outputs by which a trained model is known again.

One file holds everything, since replacing one file is atomic, and reading it runs no code. On a CPU
a resumed training ends with the same bits as one that was not interrupted.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from zoo.errors import DivergedError
from zoo.files import replacing
from zoo.models.architectures import evaluating
from zoo.training.trainer import Trainer

# Of a model and texts as ids: scores (texts, n).
Scores = Callable[[nn.Module, Sequence[Sequence[int]]], Tensor]

LENGTHS = (16, 7)  # tokens; unequal, so that padding is covered as well
FIRST = 2  # [CLS], the first token of every text
# Relative to the largest score. Another machine's float32 differs by less than 1% of this.
TOLERANCE = 1e-3


def save(file: Path, trainer: Trainer, curve: list[dict[str, float]]) -> None:
    """Write model, optimizer, random state and curve, replacing the file."""
    on_cuda = trainer.runtime.device.type == "cuda"
    state = {
        "model": trainer.model.state_dict(),
        "optimizer": trainer.optimizer.state_dict(),
        "random": (torch.get_rng_state(), torch.cuda.get_rng_state() if on_cuda else None),
        "progress": (trainer.epoch, trainer.step, curve),
    }
    content = io.BytesIO()  # torch's own writing of files does not say that a disk is full
    torch.save(state, content)
    with replacing(file) as unfinished:
        unfinished.write_bytes(content.getbuffer())


def restore(file: Path, trainer: Trainer) -> list[dict[str, float]]:
    """Bring the trainer to where ``save`` was called, and return the curve up to there.

    Without a file, or with a damaged one, nothing changes and the curve is empty.
    """
    if not zipfile.is_zipfile(file):  # its directory stands at the end: this one is whole
        return []
    # On the CPU, where random states belong; what is loaded from it goes to the device.
    state = torch.load(file, map_location="cpu", weights_only=True)
    trainer.model.load_state_dict(state["model"])
    trainer.optimizer.load_state_dict(state["optimizer"])
    random, random_on_cuda = state["random"]
    torch.set_rng_state(random)
    if random_on_cuda is not None:
        torch.cuda.set_rng_state(random_on_cuda)
    trainer.epoch, trainer.step, curve = state["progress"]
    return list(curve)


def write_tensors(
    file: Path, tensors: Mapping[str, torch.Tensor], about: Mapping[str, Any] | None = None
) -> None:
    """Write tensors, and metadata that JSON can hold, into a file: all of it or nothing.

    Raises WriteError.
    """
    # Tied or sliced tensors share memory, which the format refuses; copies do not, and in the
    # memory of the CPU they need none of a GPU's that the model fills.
    owned = {n: t.detach().to("cpu", copy=True).contiguous() for n, t in tensors.items()}
    with replacing(file) as unfinished:
        save_file(owned, unfinished, metadata={"zoo": json.dumps(about)} if about else None)


def sample_outputs(
    model: nn.Module, scores: Scores, vocab_size: int, max_length: int
) -> dict[str, Any]:
    """The model's scores, in float32, for made-up texts: ``ids`` and ``scores``, plain lists.

    Raises DivergedError where a score is not finite.
    """
    draw = np.random.default_rng(0)
    lengths = [min(length, max_length) - 1 for length in LENGTHS]
    ids = [[FIRST, *draw.integers(FIRST, vocab_size, length).tolist()] for length in lengths]
    with evaluating(model):
        values = scores(model, ids).float().cpu()
    if not values.isfinite().all():
        raise DivergedError("the trained weights give scores that are not finite")
    return {"ids": ids, "scores": values.tolist()}


def same_outputs(model: nn.Module, scores: Scores, saved: dict[str, Any]) -> bool:
    """Whether the model, in evaluation mode, still gives what ``sample_outputs`` returned."""
    wanted = np.asarray(saved["scores"], dtype=np.float32)
    with evaluating(model):
        values = scores(model, saved["ids"]).float().cpu().numpy()
    limit = TOLERANCE * max(1.0, np.abs(wanted).max())
    return values.shape == wanted.shape and bool(np.abs(values - wanted).max() <= limit)
