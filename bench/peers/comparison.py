"""The result of one comparison: one JSON line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import BaseModel, ConfigDict

from bench.peers.turns import Ratio
from zoo.training.device import Runtime, describe

Bound = Literal["at least", "at most"]


class Comparison(BaseModel):
    """What was measured, or why nothing was.

    ratio: the median, with its 95% interval from low to high. reach: the target, None where there
    is none; reached: whether the median meets it. noise: the same ratio for a second copy of one
    side, measured in the same rounds. skipped: why nothing was measured, and what would help; the
    numbers are then None. seconds: of one step, on a GPU only.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    work: str
    against: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    bound: Bound = "at least"
    reach: float | None = None
    reached: bool | None = None
    noise: float | None = None
    rounds: int = 0
    detail: str = ""
    skipped: str = ""
    seconds: dict[str, float] | None = None
    machine: str = ""
    device: str = ""
    precision: str = ""
    threads: int = 0
    torch: str = torch.__version__


def measured(
    work: str,
    against: str,
    ratio: Ratio,
    runtime: Runtime,
    *,
    rounds: int,
    reach: float | None = None,
    bound: Bound = "at least",
    noise: Ratio | None = None,
    detail: str = "",
    seconds: dict[str, float] | None = None,
) -> Comparison:
    """A comparison made on this machine; noise: of the copy."""
    # The target is compared with the printed value, so that no line says 1.15 of 1.15, not reached.
    printed = round(ratio.ratio, 4)
    reached = None
    if reach is not None:
        reached = printed >= reach if bound == "at least" else printed <= reach
    return Comparison(
        work=work,
        against=against,
        ratio=printed,
        low=round(ratio.low, 4),
        high=round(ratio.high, 4),
        bound=bound,
        reach=reach,
        reached=reached,
        noise=None if noise is None else round(noise.ratio, 4),
        rounds=rounds,
        detail=detail,
        seconds=seconds,
        **_machine(runtime),
    )


def skipped(work: str, against: str, reason: object, runtime: Runtime) -> Comparison:
    """A comparison that was not made."""
    return Comparison(work=work, against=against, skipped=str(reason), **_machine(runtime))


def _machine(runtime: Runtime) -> dict[str, Any]:
    found = describe(runtime)
    return {
        "machine": found["device_name"],
        **{name: found[name] for name in ("device", "precision", "threads")},
    }


class Output:
    """Prints comparisons as they come and, where a file is given, appends them to it."""

    def __init__(self, file: Path | None) -> None:
        self.file = file

    def add(self, comparison: Comparison) -> None:
        """Print one comparison."""
        text = json.dumps(comparison.model_dump(exclude_none=True), ensure_ascii=False)
        print(text, flush=True)
        if self.file is not None:
            with self.file.open("a", encoding="utf-8") as file:
                file.write(text + "\n")


def read(file: Path) -> Iterator[Comparison]:
    """The comparisons in a file."""
    for text in file.read_text(encoding="utf-8").splitlines():
        if text.strip():
            yield Comparison.model_validate_json(text)
