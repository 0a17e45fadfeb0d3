"""A trial's last epoch on disk, so that an interrupted trial goes on where it was.

One safetensors file holds everything: nothing in it can run code, and replacing one file is
atomic. A trial that resumes ends with the same bits, on a CPU, as one that was never interrupted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from zoo.train.trainer import Trainer


def keep(file: Path, trainer: Trainer, curve: list[dict[str, float]]) -> None:
    """Write model, optimizer, random state and curve, in place of what was there."""
    tensors = {f"model/{name}": t for name, t in trainer.model.state_dict().items()}
    tensors |= optimizer_tensors(trainer.optimizer)
    tensors["random/cpu"] = torch.get_rng_state()
    if trainer.runtime.device.type == "cuda":
        tensors["random/cuda"] = torch.cuda.get_rng_state()
    about = {"epoch": trainer.epoch, "step": trainer.step, "curve": curve}
    write(file, tensors, about)


def write(
    file: Path, tensors: Mapping[str, torch.Tensor], about: Mapping[str, Any] | None = None
) -> None:
    """Put tensors, and what JSON can hold about them, into a file, whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(".tmp")
    # Tied or sliced tensors share memory, which the format refuses; clones do not.
    owned = {name: t.detach().clone().contiguous() for name, t in tensors.items()}
    save_file(owned, unfinished, metadata={"zoo": json.dumps(about)} if about else None)
    os.replace(unfinished, file)


def restore(file: Path, trainer: Trainer) -> list[dict[str, float]]:
    """Bring the trainer to where ``keep`` was called, and return the curve up to there.

    Without a file, or with one that is torn, nothing changes and the curve is empty.
    """
    found = read(file, trainer.runtime.device)
    if found is None:
        return []
    about, tensors = found
    trainer.model.load_state_dict(part(tensors, "model/"))
    load_optimizer(trainer.optimizer, tensors)
    torch.set_rng_state(tensors["random/cpu"].cpu())
    if "random/cuda" in tensors:
        torch.cuda.set_rng_state(tensors["random/cuda"].cpu())
    trainer.epoch, trainer.step = about["epoch"], about["step"]
    curve: list[dict[str, float]] = about["curve"]
    return curve


def read(file: Path, device: torch.device) -> tuple[dict[str, Any], dict[str, torch.Tensor]] | None:
    """What ``write`` was told about the tensors, and the tensors; None where there is no use."""
    try:
        with safe_open(file, framework="pt", device=str(device)) as opened:
            about = json.loads(opened.metadata()["zoo"])
            return about, {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, KeyError, ValueError):
        return None


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """An optimizer's state by name, as ``load_optimizer`` takes it."""
    return {
        f"optimizer/{number}/{name}": value
        for number, state in optimizer.state_dict()["state"].items()
        for name, value in state.items()
    }


def load_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, torch.Tensor]) -> None:
    """Bring an optimizer into the state that stands among the tensors."""
    state: dict[int, dict[str, torch.Tensor]] = {}
    for path, value in part(tensors, "optimizer/").items():
        number, _, name = path.partition("/")
        state.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def part(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    """The tensors whose names begin so, by the rest of their names."""
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
