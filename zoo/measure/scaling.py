"""The axes along which ``zoo scale`` measures, their values, and the sizes at each. No torch."""

from __future__ import annotations

import itertools
import re
from typing import Any, Literal, get_args

from zoo.config.sizes import Sizes
from zoo.errors import ZooError, nearest

Over = Literal["length", "dim", "layers", "batch"]
AXES: tuple[str, ...] = get_args(Over)
LARGEST = 2**30  # more than any machine holds, and less than torch's limit
MAX_VALUES = 64  # a typing error must not become a day's work
_GAP = re.compile(r"…|\.\.\.?")


def parse_values(text: str, option: str) -> tuple[int, ...]:
    """``128,256,512``, or ``128,256,…,8192`` for every doubling between; in rising order.

    The gap continues the two values before it: by their ratio where that is an integer, else by
    their difference. Raises ZooError for anything but a rising list of positive integers.
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
    if values[-1] > LARGEST:
        raise ZooError(f"{option} {text}: {values[-1]} is more than {LARGEST:,}")
    if len(values) > MAX_VALUES:
        raise ZooError(f"{option} {text}: {len(values)} values are more than {MAX_VALUES}")
    return tuple(values)


def _between(first: int, second: int, last: int, what: str) -> list[int]:
    """The values between the second and the last."""
    if second <= first:
        raise ZooError(f"{what}: {second} does not come after {first}")
    ratio, step = second // first, second - first
    found: list[int] = []
    now = second
    while len(found) <= MAX_VALUES:
        now = now * ratio if second == first * ratio else now + step
        if now >= last:
            if now > last:
                raise ZooError(f"{what}: continuing {first},{second} never reaches {last}")
            break
        found.append(now)
    return found


def known_axis(over: str) -> str:
    """The axis; ZooError where there is no such axis."""
    if over not in AXES:
        raise ZooError(f"--over {over}: one of {', '.join(AXES)}{nearest(over, AXES)}")
    return over


def sizes_at(over: str, value: int, base: Sizes, batch: int) -> tuple[Sizes, int]:
    """Sizes and batch at a value; the feed-forward networks' width follows the model's."""
    changed: dict[str, Any] = {}
    if over == "length":
        changed["max_length"] = value
    elif over == "layers":
        changed["layers"] = value
    elif over == "dim":
        changed = {"dim": value, "hidden": max(1, round(value * base.hidden / base.dim))}
    return base.model_copy(update=changed), value if over == "batch" else batch
