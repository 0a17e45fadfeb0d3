"""What ``bench/gpu.sh`` checks of a device: its facts, every part on it, and a lack of memory.

    python -m bench.gpu_checks FILE [--device cpu] [--seconds 60]

Each check is a line of JSON in FILE, written at once; the exit status is 1 where one is not ``ok``.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from zoo.components.tokens import Tokens
from zoo.config.settings import Execution
from zoo.config.sizes import Sizes
from zoo.errors import one_line
from zoo.execution.failures import JobError, from_exception
from zoo.execution.machine import environment
from zoo.models.build import build_classifier, build_stack
from zoo.models.stack import Decoder, Stack
from zoo.registry import AXES
from zoo.registry.cell import Cell
from zoo.registry.loading import load
from zoo.training.device import Runtime, resolve

SIZES = Sizes(dim=64, layers=2, heads=4, ffn_dim=128, max_length=64, vocab_size=100)
PLAIN = {"attention": "fused", "pe": "rope", "norm": "layer", "ffn": "gelu", "block": "pre"}
CLASSES, TEXTS = 5, 8
LOW_TOLERANCE = 0.05  # of the largest value, between two kernels in bfloat16
TOLERANCE = 1e-3  # of the largest value, in float32 against float64
Line = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all checks and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.gpu_checks", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=60.0, help="for the parts")
    options = parser.parse_args(arguments)
    execution = Execution.model_validate({"device": options.device, "precision": "fp32"})
    bad = 0
    with options.file.open("w", encoding="utf-8") as file:
        for line in checks(execution, options.seconds):
            print(json.dumps(line), file=file, flush=True)
            if line["status"] != "ok":
                bad += 1
                print(f"{line['check']}: {line['status']}: {line.get('reason')}", file=sys.stderr)
    return 1 if bad else 0


def checks(execution: Execution, seconds: float) -> Iterator[Line]:
    """The facts, a lack of memory where it can be had without harm, and every part."""
    runtime, end = resolve(execution), time.monotonic() + seconds
    yield {"check": "facts", "status": "ok", **environment(execution)}
    if runtime.device.type == "cuda":
        yield lack_of_memory(runtime)
    yield packing(runtime, causal=False)
    yield packing(runtime, causal=True)
    for name, cell in cells():
        if time.monotonic() > end:
            yield {"check": name, "status": "left out", "reason": f"{seconds:g} s were over"}
            continue
        try:
            errors = errors_of(cell, runtime)
        except Exception as error:  # noqa: BLE001 - the other parts are still to be checked
            yield {"check": name, "status": "crashed", "reason": one_line(error)}
            continue
        wrong = {what: error for what, error in errors.items() if not error <= TOLERANCE}
        reason = f"differs from float64 in {', '.join(wrong)}"
        yield {
            "check": name,
            **errors,
            **({"status": "ok"} if not wrong else {"status": "differs", "reason": reason}),
        }


def lack_of_memory(runtime: Runtime) -> Line:
    """More than any card has must end as ``oom``, and leave the card as it was."""
    line = {"check": "oom", "status": "no error", "reason": "1 EiB were given out"}
    try:
        torch.empty(2**58, dtype=torch.float32, device=runtime.device)
    except Exception as error:  # noqa: BLE001
        failure = from_exception(error)
        status = failure.status if isinstance(failure, JobError) else "stopped"
        line = {"check": "oom", "status": status, "reason": str(failure)}
    works = float(torch.ones(9, device=runtime.device).sum()) == 9
    return line | {"status": "ok"} if line["status"] == "oom" and works else line


def packing(runtime: Runtime, causal: bool) -> Line:
    """Texts in a row without padding in bfloat16, against the mask; and the seconds of a pass each.

    What a GPU has to show before ``Stack.packs`` is on.
    """
    low, passes, seconds = Runtime(runtime.device, "bf16"), [], []
    cell = Cell.parse(load().registry, {**PLAIN, "pool": "mean"})
    words = SIZES.vocab_size
    model: nn.Module = build_classifier(cell, SIZES, vocab_size=words, classes=CLASSES, seed=0)
    if causal:
        model.encoder = build_stack(Decoder, cell, SIZES, vocab_size=words, seed=0)
    model.to(runtime.device)
    line = {"check": f"packing{' causal' if causal else ''}"}
    try:
        for Stack.packs in (False, True):
            for _ in range(4):  # the first ones choose kernels
                model.zero_grad()
                runtime.synchronise()
                start = time.perf_counter()
                with low.autocast():
                    passed = _pass(model, runtime.device)
                runtime.synchronise()
                taken = time.perf_counter() - start
            passes.append(passed)
            seconds.append(taken)
    except Exception as error:  # noqa: BLE001
        return {**line, "status": "crashed", "reason": one_line(error)}
    finally:
        Stack.packs = False
    masked, packed = passes
    errors = {what: _error(packed[what], masked[what].cpu().double()) for what in masked}
    status = "ok" if max(errors.values()) <= LOW_TOLERANCE else "differs"
    reason = f"{errors}" if status != "ok" else ""
    return {**line, "status": status, "reason": reason, **errors, "seconds": seconds}


def cells() -> Iterator[tuple[str, Cell]]:
    """A cell for every part that is installed, and the plain one in all other places."""
    registry = load().registry
    plain = Cell.parse(registry, {**PLAIN, "pool": "mean"})
    for axis in AXES:
        for label in registry.labels(axis):
            changed: dict[str, Any] = {axis: (registry.choose(axis, label),)}
            cell = replace(plain, axes={**plain.axes, **changed})
            if cell.refusal(SIZES, {}) is not None:  # an attention without places for rope
                pe = registry.layers("pe", "none")
                cell = replace(plain, axes={**plain.axes, **changed, "pe": pe})
            if cell.refusal(SIZES, {}) is None:
                yield f"{axis} {label}", cell


def errors_of(cell: Cell, runtime: Runtime) -> dict[str, float]:
    """How far logits and gradients of padded texts are from those in float64 on the CPU.

    Of the largest value; of gradients, over all parameters. In evaluation mode: nothing is drawn.
    """
    model = build_classifier(cell, SIZES, vocab_size=SIZES.vocab_size, classes=CLASSES, seed=0)
    exact = _pass(copy.deepcopy(model).double(), torch.device("cpu"))
    ours = _pass(model.to(runtime.device), runtime.device)
    return {what: _error(ours[what], exact[what]) for what in exact}


def _pass(model: nn.Module, device: torch.device) -> Mapping[str, torch.Tensor]:
    """Logits and gradients of padded texts."""
    draw = torch.Generator().manual_seed(0)
    ids = torch.randint(1, SIZES.vocab_size, (TEXTS, SIZES.max_length), generator=draw)
    lengths = torch.linspace(SIZES.max_length // 2, SIZES.max_length, TEXTS).long()
    mask = (torch.arange(SIZES.max_length) < lengths[:, None]).to(device)
    tokens = Tokens.whole(SIZES.max_length, device)
    tokens = replace(tokens, attention_mask=mask, counted=(mask, int(lengths.sum())))
    logits = model.eval()(ids.to(device), tokens)
    F.cross_entropy(logits.float(), torch.arange(TEXTS, device=device) % CLASSES).backward()
    gradients = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
    return {"logits": logits.detach(), "gradients": torch.cat(gradients)}


def _error(ours: torch.Tensor, exact: torch.Tensor) -> float:
    difference = (ours.cpu().double() - exact).abs().max()
    return float(difference / exact.abs().max().clamp_min(1e-12))


if __name__ == "__main__":
    sys.exit(main())
