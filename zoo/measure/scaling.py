"""Where cost is measured: an axis, the values along it, and the sizes at each. No torch here."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import Any, Literal, get_args

from zoo.config.sizes import Sizes
from zoo.errors import ZooError, nearest
from zoo.execution.base import Subject

Over = Literal["length", "dim", "layers", "batch"]
AXES: tuple[str, ...] = get_args(Over)
GREATEST = 2**30  # more than any machine holds, and less than what torch cannot count
MOST = 64  # values; a slip of the pen must not become a day's work
_GAP = re.compile(r"…|\.\.\.?")


@dataclass(frozen=True)
class Point:
    """One cell at one place of the axis."""

    subject: Subject
    value: int
    sizes: Sizes
    batch: int


@dataclass(frozen=True)
class Job:
    """What a worker is told of a point. what: memory of a phase, ``prepare`` or ``round``."""

    point: Point
    what: Literal["training", "inference", "prepare", "round"]
    steps: int = 1


def parse_values(text: str, option: str) -> tuple[int, ...]:
    """``128,256,512``, or ``128,256,…,8192`` for every doubling between; in rising order.

    The gap goes on as the two values before it do: by their ratio where that is whole, else by
    their difference. Raises ZooError for anything that is no rising list of positive integers.
    """
    wanted = "wants rising positive integers, such as 128,256,512 or 128,256,…,8192"
    values: list[int] = []
    gap = False
    for part in (part.strip() for part in text.split(",")):
        if _GAP.fullmatch(part):
            if gap or len(values) < 2:
                raise ZooError(f"{option} {text}: {wanted}")
            gap = True
            continue
        if not (part.isascii() and part.isdigit()) or int(part) < 1:
            raise ZooError(f"{option} {text}: {wanted}")
        if gap:
            values += _between(values[-2], values[-1], int(part), f"{option} {text}")
            gap = False
        values.append(int(part))
    if gap or not values or any(a >= b for a, b in itertools.pairwise(values)):
        raise ZooError(f"{option} {text}: {wanted}")
    if values[-1] > GREATEST:
        raise ZooError(f"{option} {text}: {values[-1]} is more than {GREATEST:,}")
    if len(values) > MOST:
        raise ZooError(f"{option} {text}: {len(values)} values are more than {MOST}")
    return tuple(values)


def _between(first: int, second: int, last: int, what: str) -> list[int]:
    """What stands between the second value and the last."""
    if second <= first:
        raise ZooError(f"{what}: {second} does not come after {first}")
    ratio, step = second // first, second - first
    found: list[int] = []
    now = second
    while len(found) <= MOST:
        now = now * ratio if second == first * ratio else now + step
        if now >= last:
            if now > last:
                raise ZooError(f"{what}: going on from {first},{second} one never meets {last}")
            break
        found.append(now)
    return found


def known_axis(over: str) -> str:
    """The axis; ZooError where there is none such."""
    if over not in AXES:
        raise ZooError(f"--over {over}: one of {', '.join(AXES)}{nearest(over, AXES)}")
    return over


def point(subject: Subject, over: str, value: int, base: Sizes, batch: int) -> Point:
    """The cell with one size changed: the feed-forward network's width follows the model's."""
    changed: dict[str, Any] = {}
    if over == "length":
        changed["max_length"] = value
    elif over == "layers":
        changed["layers"] = value
    elif over == "dim":
        changed = {"dim": value, "hidden": max(1, round(value * base.hidden / base.dim))}
    sizes = base.model_copy(update=changed)
    return Point(subject, value, sizes, value if over == "batch" else batch)
