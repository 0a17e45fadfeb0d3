"""What is known of a part once it is checked: what it declared and held, and numbers of it."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

import zoo
from zoo.components.tokens import Tokens
from zoo.conformance.check import CheckResult
from zoo.conformance.outcomes import CheckFailed, CheckSettings, CheckSkipped
from zoo.conformance.parts import Call, Part
from zoo.conformance.surroundings import caches
from zoo.errors import ZooError
from zoo.models.key_value_cache import KeyValues
from zoo.registry import AXES, Choice
from zoo.registry.code_hash import hash_of
from zoo.registry.component import file_of

LENGTHS = (64, 128)


def certificate(choice: Choice, results: Sequence[CheckResult]) -> dict[str, Any]:
    """Declared capabilities, the checks that it passed, its numbers, versions and source's hash.

    The numbers are those of a part of a layer that failed no check, in the first way in which it is
    called: ``parameters``; ``receptive_field``, how many tokens before and after its own an output
    depends on, of 64 tokens; ``causal``; ``state_per_token``, numbers that a cache keeps for each;
    ``flops_per_token`` at two lengths.
    """
    component = choice.component
    file = file_of(component.module)
    entry: dict[str, Any] = {
        "component": f"{component.kind}/{choice}",
        "declared": sorted(component.capabilities),
        "held": [result.check for result in results if result.status == "passed"],
        "source_hash": hash_of(file) if file else "",
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "encoder-zoo": zoo.__version__,
            component.owner.distribution: component.owner.version,
        },
    }
    if all(result.status != "failed" for result in results):
        with contextlib.suppress(CheckFailed, CheckSkipped, ZooError):
            entry |= _numbers(choice)
    return entry


def _numbers(choice: Choice) -> dict[str, Any]:
    part = Part(choice, CheckSettings())
    if part.kind not in AXES:
        return {}
    module, way = part.build(), part.shown_ways[0]
    calls = [Call(part.draw(n, texts=1), Tokens.whole(n), way) for n in LENGTHS]
    flops = {}
    for call, length in zip(calls, LENGTHS, strict=True):
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            part.run(module, call)
        flops[length] = counter.get_total_flops() / length
    numbers: dict[str, Any] = {
        "parameters": sum(p.numel() for p in part.make().parameters()),
        "flops_per_token": flops,
        "causal": way.causal,
    }
    if not part.per_text:
        call, middle = calls[0].leaves(), LENGTHS[0] // 2
        (slope,) = torch.autograd.grad(part.run(module, call)[:, middle].sin().sum(), call.x)
        seen = slope[0].abs().amax(dim=1).nonzero().flatten().tolist()
        numbers["receptive_field"] = [middle - min(seen), max(seen) - middle] if seen else None
    cached = (w for w in part.shown_ways if w.causal and not w.cross and caches(part, w))
    if decoded := next(cached, None):
        sizes = []
        for call in calls:
            cache = KeyValues()
            part.run(module, replace(call, way=decoded).but(cache=cache))
            states = (tensor for state in cache.states.values() for tensor in state.values())
            sizes.append(sum(t.numel() for t in (*(cache.stored or ())[:2], *states)))
        numbers["state_per_token"] = (sizes[1] - sizes[0]) / (LENGTHS[1] - LENGTHS[0])
    return numbers
