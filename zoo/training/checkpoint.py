"""The state of an interrupted training on disk, so that it can be resumed.

One safetensors file holds everything: it cannot run code when it is read, and replacing one file
is atomic. On a CPU a resumed training ends with the same bits as one that was not interrupted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from zoo.files import replacing
from zoo.training.trainer import Trainer


def save(file: Path, trainer: Trainer, curve: list[dict[str, float]]) -> None:
    """Write model, optimizer, random state and curve, replacing the file."""
    tensors = {f"model/{name}": t for name, t in trainer.model.state_dict().items()}
    tensors |= {
        f"optimizer/{number}/{name}": value
        for number, state in trainer.optimizer.state_dict()["state"].items()
        for name, value in state.items()
    }
    tensors["random/cpu"] = torch.get_rng_state()
    if trainer.runtime.device.type == "cuda":
        tensors["random/cuda"] = torch.cuda.get_rng_state()
    write_tensors(file, tensors, {"epoch": trainer.epoch, "step": trainer.step, "curve": curve})


def restore(file: Path, trainer: Trainer) -> list[dict[str, float]]:
    """Bring the trainer to where ``save`` was called, and return the curve up to there.

    Without a file, or with a damaged one, nothing changes and the curve is empty.
    """
    try:
        with safe_open(file, framework="pt", device=str(trainer.runtime.device)) as opened:
            about = json.loads(opened.metadata()["zoo"])
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, KeyError, ValueError):
        return []
    trainer.model.load_state_dict(_part(tensors, "model/"))
    state: dict[int, dict[str, torch.Tensor]] = {}
    for path, value in _part(tensors, "optimizer/").items():
        number, _, name = path.partition("/")
        state.setdefault(int(number), {})[name] = value
    trainer.optimizer.load_state_dict({**trainer.optimizer.state_dict(), "state": state})
    torch.set_rng_state(tensors["random/cpu"].cpu())
    if "random/cuda" in tensors:
        torch.cuda.set_rng_state(tensors["random/cuda"].cpu())
    trainer.epoch, trainer.step = about["epoch"], about["step"]
    curve: list[dict[str, float]] = about["curve"]
    return curve


def write_tensors(
    file: Path, tensors: Mapping[str, torch.Tensor], about: Mapping[str, Any] | None = None
) -> None:
    """Write tensors, and metadata that JSON can hold, into a file: all of it or nothing.

    Raises WriteError.
    """
    # Tied or sliced tensors share memory, which the format refuses; clones do not.
    owned = {name: t.detach().clone().contiguous() for name, t in tensors.items()}
    with replacing(file) as unfinished:
        save_file(owned, unfinished, metadata={"zoo": json.dumps(about)} if about else None)


def _part(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    """The tensors whose names have this prefix, by the rest of their names."""
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
