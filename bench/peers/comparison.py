"""The result of one comparison: one JSON line that says what each side computed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, Self

import torch
from pydantic import BaseModel, ConfigDict, model_validator

from bench.commit import code_commit
from bench.peers.turns import Ratio
from zoo.training.device import Runtime, describe

Bound = Literal["at least", "at most"]
# equal: both sides do the same arithmetic under the same conditions. left out: one of them does
# not do a part of the work. own: the zoo against the machine, or against itself.
Kind = Literal["equal", "left out", "own"]
# What two lines of one comparison have in common.
IDENTITY = ("kind", "work", "sizes", "ours", "against", "theirs", "device", "precision", "threads")


class Comparison(BaseModel):
    """What was measured, or why nothing was.

    work: what is timed. sizes: of the model and of its batches. ours, theirs: what each side
    computes, and under which conditions; equal texts where the work is equal.
    ratio: the geometric mean, with its 95% interval from low to high: their time divided by ours
    unless ``work`` says otherwise. reach: the goal, None where there is none; reached: whether the
    ratio meets it. noise: the same ratio for a second copy of one side, measured in the same
    rounds. matrix_share: what share of the machine's matrix rate the operations of our side are,
    by formula; recomputed_share: with what the attention kernel computes a second time in its
    backward pass. seconds: of one step by side, median. skipped: why nothing was measured, and what
    would help; the numbers are then None. commit: of the zoo's code, with "+" where it was changed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind
    work: str
    sizes: str = ""
    ours: str = ""
    against: str
    theirs: str = ""
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    bound: Bound = "at least"
    reach: float | None = None
    reached: bool | None = None
    noise: float | None = None
    rounds: int = 0
    matrix_share: float | None = None
    recomputed_share: float | None = None
    seconds: dict[str, float] | None = None
    detail: str = ""
    skipped: str = ""
    machine: str = ""
    device: str = ""
    precision: str = ""
    threads: int = 0
    torch: str = torch.__version__
    commit: str = ""

    @model_validator(mode="after")
    def _equal_is_equal(self) -> Self:
        assert self.kind != "equal" or self.ours == self.theirs, "equal work is told in equal words"
        return self


def measured(
    kind: Kind,
    work: str,
    against: str,
    ratio: Ratio,
    runtime: Runtime,
    *,
    rounds: int,
    reach: float | None = None,
    bound: Bound = "at least",
    noise: Ratio | None = None,
    **more: Any,
) -> Comparison:
    """A comparison made on this machine. noise: of the copy. more: other fields."""
    # The goal is compared with the printed value, so that no line says 1.15 of 1.15, not reached.
    printed = round(ratio.ratio, 4)
    reached = None
    if reach is not None:
        reached = printed >= reach if bound == "at least" else printed <= reach
    return Comparison(
        kind=kind,
        work=work,
        against=against,
        ratio=printed,
        low=_rounded(ratio.low),
        high=_rounded(ratio.high),
        bound=bound,
        reach=reach,
        reached=reached,
        noise=None if noise is None else round(noise.ratio, 4),
        rounds=rounds,
        **more,
        **_machine(runtime),
    )


def skipped(kind: Kind, work: str, against: str, reason: object, runtime: Runtime) -> Comparison:
    """A comparison that was not made."""
    machine = _machine(runtime)
    return Comparison(kind=kind, work=work, against=against, skipped=str(reason), **machine)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _machine(runtime: Runtime) -> dict[str, Any]:
    found = describe(runtime)
    return {
        "machine": found["device_name"],
        "commit": code_commit(),
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


def read(file: Path) -> list[Comparison]:
    """The comparisons in a file; of two of the same, the later one replaces the earlier."""
    found: dict[tuple[object, ...], Comparison] = {}
    for text in filter(None, file.read_text(encoding="utf-8").splitlines()):
        one = Comparison.model_validate_json(text)
        found[tuple(getattr(one, name) for name in IDENTITY)] = one
    return list(found.values())
