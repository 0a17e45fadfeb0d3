"""One comparison as one JSON line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import BaseModel, ConfigDict

from bench.peers.timing import Ratio
from zoo.train.device import Runtime, describe

Bound = Literal["at least", "at most"]


class Line(BaseModel):
    """What one comparison gave.

    ratio: the median, with its 95% interval from low to high; reach: what was hoped for, None for
    figures that are told and not judged; reached: whether the median is there. noise: the same
    ratio of the thing measured with itself, taken in the same rounds. skipped: why nothing was
    measured, and what would help; all figures are then None. seconds: of one piece, on a GPU only.
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


def made(
    work: str,
    against: str,
    found: Ratio,
    runtime: Runtime,
    *,
    rounds: int,
    reach: float | None = None,
    bound: Bound = "at least",
    **rest: Any,
) -> Line:
    """The line of a comparison on this machine."""
    # Judged as it is printed, so that no line says 1.15 of 1.15 and not reached.
    shown = round(found.ratio, 4)
    reached = None
    if reach is not None:
        reached = shown >= reach if bound == "at least" else shown <= reach
    return Line(
        work=work,
        against=against,
        ratio=shown,
        low=round(found.low, 4),
        high=round(found.high, 4),
        bound=bound,
        reach=reach,
        reached=reached,
        rounds=rounds,
        **(machine(runtime) | rest),
    )


def machine(runtime: Runtime) -> dict[str, Any]:
    """What a line says of the machine."""
    facts = describe(runtime)
    return {
        "machine": facts["device_name"],
        "device": facts["device"],
        "precision": facts["precision"],
        "threads": facts["threads"],
    }


class Out:
    """Lines printed and, where a file is given, appended to it as they come."""

    def __init__(self, file: Path | None) -> None:
        self.file, self.count = file, 0

    def add(self, line: Line) -> None:
        """Print and keep one line."""
        text = json.dumps(line.model_dump(exclude_none=True), ensure_ascii=False)
        print(text, flush=True)
        self.count += 1
        if self.file is not None:
            with self.file.open("a", encoding="utf-8") as file:
                file.write(text + "\n")


def read(file: Path) -> Iterator[Line]:
    """The lines of a file."""
    for text in file.read_text(encoding="utf-8").splitlines():
        if text.strip():
            yield Line.model_validate_json(text)
