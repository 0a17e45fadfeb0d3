"""The result of one comparison: one JSON line that says what both sides computed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict

from bench.commit import code_commit
from zoo.measure.turns import CONTENDED, Logs
from zoo.report.stats.ratios import Ratio, Session, combined
from zoo.training.device import Runtime, describe

# What two lines of one comparison have in common.
IDENTITY = ("work", "sizes", "ours", "against", "device", "precision", "threads")


class Comparison(BaseModel):
    """What was measured, or why nothing was.

    work: what is timed. sizes: of the model and of its batches. ours: what we and the others
    compute, and under which conditions. against: the other library. logs: of the ratio, their time
    divided by ours: of each process, block by block. check: the same of a second copy of one side.
    ratio: their centre, with its 95% interval from low to high. contention: wall time over CPU
    time. skipped: why nothing was measured, and what would help; the numbers are then None. commit:
    of the zoo's code, with "+" where it was changed.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)  # fields of earlier versions

    work: str
    sizes: str = ""
    ours: str = ""
    against: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    logs: tuple[tuple[float, ...], ...] = ()
    check: tuple[tuple[float, ...], ...] = ()
    contention: float = 1.0
    skipped: str = ""
    machine: str = ""
    device: str = ""
    precision: str = ""
    threads: int = 0
    torch: str = torch.__version__
    commit: str = ""

    @property
    def identity(self) -> tuple[object, ...]:
        """What two lines of one comparison have in common."""
        return tuple(getattr(self, name) for name in IDENTITY)

    @property
    def blocks(self) -> int:
        """Of all processes."""
        return sum(map(len, self.logs))

    @property
    def estimate(self) -> Ratio:
        """The ratio with its interval and verdict."""
        return _ratio(self.logs, self.contention)

    @property
    def checked(self) -> Ratio | None:
        """That of the second copy, which is 1 but for chance."""
        return _ratio(self.check, self.contention) if self.check else None


def _ratio(logs: Iterable[Sequence[float]], contention: float) -> Ratio:
    return combined([Session([np.array(values) for values in logs])], contention > CONTENDED)


def measured(
    work: str, against: str, logs: Logs, runtime: Runtime, *, check: Logs | None = None, **more: Any
) -> Comparison:
    """A comparison made in this process. check: logs of the copy. more: other fields."""
    known = {"logs": logs} if check is None else {"logs": logs, "check": check}
    more |= {name: [[round(float(x), 5) for x in values]] for name, values in known.items()}
    return _evaluated(Comparison(work=work, against=against, **more, **_machine(runtime)))


def joined(parts: Sequence[Comparison]) -> Comparison:
    """One comparison of those that several processes made."""
    made = [part for part in parts if not part.skipped]
    if len(made) < 2:
        return (made or parts)[0]
    changed: dict[str, Any] = {"contention": max(part.contention for part in made)}
    changed |= {n: tuple(x for part in made for x in getattr(part, n)) for n in ("logs", "check")}
    return _evaluated(made[0].model_copy(update=changed))


def _evaluated(line: Comparison) -> Comparison:
    """With the ratio that its logs give."""
    ratio = line.estimate
    values = {"ratio": ratio.value, "low": ratio.low, "high": ratio.high}
    changed = {n: None if x is None else round(x, 4) for n, x in values.items()}
    return line.model_copy(update=changed)


def skipped(work: str, against: str, reason: object, runtime: Runtime) -> Comparison:
    """A comparison that was not made."""
    return Comparison(work=work, against=against, skipped=str(reason), **_machine(runtime))


def _machine(runtime: Runtime) -> dict[str, Any]:
    facts = describe(runtime)
    return {
        "machine": facts["device_name"],
        "commit": code_commit(),
        **{name: facts[name] for name in ("device", "precision", "threads")},
    }


def add(comparison: Comparison, file: Path | None) -> None:
    """Print one comparison and, where a file is given, add it there."""
    line = json.dumps(comparison.model_dump(exclude_none=True), ensure_ascii=False)
    print(line, flush=True)
    if file is not None:
        with file.open("a", encoding="utf-8") as stream:
            print(line, file=stream)


def read(file: Path) -> list[Comparison]:
    """The comparisons in a file, of several of the same the last one."""
    lines = filter(None, file.read_text(encoding="utf-8").splitlines())
    comparisons = map(Comparison.model_validate_json, lines)
    return list({comparison.identity: comparison for comparison in comparisons}.values())
