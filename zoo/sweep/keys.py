"""Keys of results: hashes of everything that a result depends on.

A result is reused for a request whose key is the same: same code, plug-ins, configuration, data
and seed; for a cost also the same machine. Comments, docstrings and formatting of the code do not
count.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from zoo.config.settings import machine_of
from zoo.registry.code_hash import zoo_code

# The code that decides the number. Reports and the command line are not part of it.
TRAINING_CODE = (
    *("components", "models", "data", "tasks", "training", "registry/cell.py"),
    *("execution/train_job.py", "execution/open_setup.py", "execution/worker.py"),
    "execution/pretrain.py",
)
COST_CODE = (
    *(*TRAINING_CODE, "measure"),
    *("execution/cost_job.py", "execution/cost_steps.py"),
)
SCALE_CODE = (*COST_CODE, "sweep/cost.py")
# What runs where a job runs, and must be the same there as where the run was started.
JOB_CODE = (*COST_CODE, "config", "registry", "execution")


def digest(value: Any) -> str:
    """A short, stable hash of anything that JSON can hold."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def training_key(
    model: Mapping[str, Any], seed: int, config: Mapping[str, Any], plugins: Mapping[str, str]
) -> str:
    """The key of one training. model: what a row is; plugins: ``plugin_hashes``."""
    return digest(["train", model, seed, config, plugins, code_hash(TRAINING_CODE)])


def cost_key(
    kind: str,
    model: Mapping[str, Any],
    config: Mapping[str, Any],
    plugins: Mapping[str, str],
    environment: Mapping[str, Any],
    *more: Any,
) -> str:
    """The key of a cost or scale measurement. more: what else it depends on, such as rounds."""
    machine = machine_of(environment)
    code = code_hash(SCALE_CODE if kind == "scale" else COST_CODE)
    return digest([kind, model, config, plugins, code, machine, *more])


def code_hash(parts: Iterable[str]) -> str:
    """A hash of these folders and files of the zoo's own code."""
    return digest([[part.name, part.code] for part in zoo_code(parts).modules])


def slug(name: str) -> str:
    """A name as part of a file's name: ``recall(pairs=32)`` as ``recall-pairs-32``."""
    return re.sub(r"[^\w.]+", "-", name).strip("-.") or "data"
