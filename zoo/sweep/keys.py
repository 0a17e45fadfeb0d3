"""What results depend on, and their keys.

A result is reused for a request whose key is the same: same code, plug-ins, versions of torch and
tokenizers, configuration, data and seed; for a cost also the same machine. Comments, docstrings and
formatting of the code do not count. By the same code a record is current or stale (``changes``).
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from zoo.config.settings import machine_of
from zoo.registry import Choice
from zoo.registry.code_hash import UNKNOWN, hash_of, module_hash, plugin_modules, zoo_modules
from zoo.registry.component import BUILT_IN
from zoo.sweep.records import Record

# Whatever these and the parts of a row import decides the number, besides what is HARMLESS.
ROOTS = {
    "train": ("execution/train_job.py", "registry/cell.py"),
    "cost": (
        "execution/cost_job.py",
        "execution/cost_steps.py",
        "execution/machine.py",  # the threads of its workers
        "registry/cell.py",
    ),
}
ROOTS["tune"] = ROOTS["train"]
ROOTS["scale"] = (*ROOTS["cost"], "sweep/cost.py")
PRETRAINING = "execution/pretrain.py"  # a root where models begin with a pretrained encoder
# What jobs import and no number depends on, with the reason. A slash at the end: a whole folder.
HARMLESS = {
    "__init__.py": "registers names, or offers those of other modules",
    "cli/": "reads arguments",
    "config/": "the record has the settings as they were resolved",
    "data/cache.py": "finds encoded data by a hash of their contents",
    "data/sources/": "the fingerprint of the data says what came of it",
    "errors.py": "says what failed",
    "execution/base.py": "describes jobs and results, and does nothing",
    "execution/failures.py": "says how a job failed",
    "execution/local.py": "calls jobs, each in a process of its own",
    "execution/process.py": "starts a process and passes on what it says",
    PRETRAINING: "counts where models are pretrained",
    "files.py": "writes files whole or not at all",
    "models/text_model.py": "answers texts, once a model is trained",
    "registry/": "finds parts by the names that the record has; cell.py counts",
    "sweep/": "decides what is done, which the record says; cost.py counts for costs at lengths",
    "training/checkpoint.py": "a training that was interrupted has the numbers of one that was not",
}
# What else processes import that train, and only costs depend on.
OF_COSTS = ("measure/",)
# What runs where a job runs, and must be the same there as where the run was started.
JOB_CODE = (
    *("components", "models", "data", "tasks", "training", "measure"),
    *("config", "registry", "execution"),
)
VERSIONS = ("torch", "tokenizers")
_version_here = functools.cache(importlib.metadata.version)  # imports none of them


def code_of(
    kind: str, choices: Iterable[Choice], *modules: str, pretrained: bool = False
) -> dict[str, str]:
    """The code that a record of this kind depends on: module to a short hash.

    Modules of the zoo are paths in its package, such as ``components/pe/rope.py``. Of a plug-in the
    whole package counts under its name, or the file under its own. choices: the parts of the row,
    the task and its metrics; costs do not depend on metrics. modules: further ones, by dotted name.
    """
    choices = list(choices)
    if kind in ("cost", "scale"):
        choices = [choice for choice in choices if choice.component.kind != "metric"]
    paths = (*ROOTS[kind], PRETRAINING) if pretrained else ROOTS[kind]
    roots = [f"zoo.{path.removesuffix('.py').replace('/', '.')}" for path in paths]
    roots += [*modules, *(choice.component.module for choice in choices)]
    paths_used = {path for root in roots for path in zoo_modules(root, tuple(HARMLESS))}
    code = {path: short_hash(path) for path in sorted(paths_used)}
    for (distribution, _), names in plugin_modules(choices).items():
        for name in names:
            key = distribution if distribution.endswith(".py") else name
            code[key] = module_hash(distribution, name)[:8]
    return code


def short_hash(module: str, files: Mapping[str, Path] = {}) -> str:
    """The hash of a module here, named as in ``code_of``; empty where there is none.

    files: single-file plug-ins by their names.
    """
    if module in files:
        return hash_of(files[module])[:8]
    code = module_hash(BUILT_IN if module.endswith(".py") else "", module)
    return "" if code == UNKNOWN else code[:8]


def changes(record: Record, files: Mapping[str, Path] = {}) -> list[str]:
    """What a record depends on that is not the same here, in words; empty where it is current.

    files: single-file plug-ins by their names.
    """
    if not record.code:
        return ["made before the hashes of code were kept"]
    differences = []
    for name in VERSIONS:
        there, here = record.environment.get(name), _version_here(name)
        if there != here:
            differences.append(f"{name} {there}, here {here}")
    for module, code in record.code.items():
        if (here := short_hash(module, files)) != code:
            gone = "removed" if module.endswith(".py") else "not installed here"
            gone = "not given here (--plugin)" if module in record.plugins else gone
            differences.append(f"{module} {'changed' if here else gone}")
    return differences


def stale_rows(
    records: Iterable[Record], files: Mapping[str, Path] = {}
) -> dict[tuple[str, tuple[str, ...]], Counter[str]]:
    """Row and what has changed for it, to how many records of each kind are stale.

    Of several records of the same work the last one counts. files: as for ``changes``.
    """
    last = {}
    for record in records:
        config = record.config
        settings = config.get("value")
        if record.kind == "tune" or config.get("training", {}).get("evaluate_every"):
            settings = digest(config["training"])  # of several rates each is work of its own
        last[record.kind, record.name, record.seed, settings] = record
    stale: dict[tuple[str, tuple[str, ...]], Counter[str]] = defaultdict(Counter)
    for record in last.values():
        if changed := changes(record, files):
            stale[record.name, tuple(changed)][record.kind] += 1
    return stale


def digest(value: Any) -> str:
    """A short, stable hash of anything that JSON can hold."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def result_key(
    kind: str,
    model: Mapping[str, Any],
    config: Mapping[str, Any],
    code: Mapping[str, str],
    environment: Mapping[str, Any],
    *more: Any,
) -> str:
    """The key of a record; tuning has that of a training. Of costs the machine is part of it.

    model: what a row is. code: ``code_of``. more: what else it depends on: the seed, or blocks.
    """
    libraries = [environment.get(name) for name in VERSIONS]
    machine = () if kind == "train" else machine_of(environment)
    return digest([kind, model, config, code, libraries, machine, *more])
