"""What is known of a part once it is checked: what it declared and held, and numbers of it."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import zoo
from zoo.conformance.check import CheckResult
from zoo.conformance.outcomes import CheckFailed, CheckSettings, CheckSkipped
from zoo.registry import Choice
from zoo.registry.code_hash import hash_of

LENGTHS = (64, 128)


def certificate(choice: Choice, results: Iterable[CheckResult]) -> dict[str, Any]:
    """Declared capabilities, the checks that it passed, its numbers, versions and source's hash.

    The numbers are those of a part of a layer, in the first way in which it is called:
    ``parameters``; ``receptive_field``, how many tokens before and after its own an output depends
    on, of 64 tokens; ``causal``; ``state_per_token``, numbers that a cache keeps for each;
    ``flops_per_token`` at two lengths.
    """
    import torch

    component = choice.component
    passed = [result.check for result in results if result.status == "passed"]
    file = component.file()
    entry: dict[str, Any] = {
        "component": f"{component.kind}/{choice}",
        "declared": sorted(component.capabilities),
        "held": passed,
        "source_hash": hash_of(Path(file)) if file else "",
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "encoder-zoo": zoo.__version__,
            component.owner.distribution: component.owner.version,
        },
    }
    try:
        return entry | _numbers(choice)
    except (CheckFailed, CheckSkipped):
        return entry


def _numbers(choice: Choice) -> dict[str, Any]:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from zoo.components.tokens import Tokens
    from zoo.conformance.parts import Call, ModulePart, part_of
    from zoo.conformance.surroundings import caches
    from zoo.models.key_value_cache import KeyValues

    part = part_of(choice, CheckSettings())
    if not isinstance(part, ModulePart) or part.kind == "baseline":
        return {}
    module, ways = part.build(), part.shown_ways
    calls = [Call(part.draw(n, texts=1), Tokens.whole(n), ways[0]) for n in LENGTHS]
    flops = {}
    for call, length in zip(calls, LENGTHS, strict=True):
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            part.run(module, call)
        flops[length] = counter.get_total_flops() / length
    numbers: dict[str, Any] = {
        "parameters": sum(p.numel() for p in part.make().parameters()),
        "flops_per_token": flops,
        "causal": ways[0].causal,
    }
    if not part.per_text:
        call, middle = calls[0].leaves(), LENGTHS[0] // 2
        (slope,) = torch.autograd.grad(part.run(module, call)[:, middle].sin().sum(), call.x)
        seen = slope[0].abs().amax(dim=1).nonzero().flatten().tolist()
        numbers["receptive_field"] = [middle - min(seen), max(seen) - middle] if seen else None
    for way in ways:
        if way.causal and not way.cross and caches(part, way):
            sizes = []
            for length in LENGTHS:
                cache = KeyValues()
                call = Call(part.draw(length, texts=1), Tokens.whole(length), way)
                part.run(module, call.but(cache=cache))
                kept = [
                    *(cache.stored or ())[:2],
                    *(t for s in cache.states.values() for t in s.values()),
                ]
                sizes.append(sum(tensor.numel() for tensor in kept))
            numbers["state_per_token"] = (sizes[1] - sizes[0]) / (LENGTHS[1] - LENGTHS[0])
            break
    return numbers
