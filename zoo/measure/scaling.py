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
    what = f"{option} {text}"
    wrong = ZooError(
        f"{what}: wants rising positive integers, such as 128,256,512 or 128,256,…,8192"
    )
    values: list[int] = []
    gap = False
    for part in (part.strip() for part in text.split(",")):
        if _GAP.fullmatch(part) and not gap and len(values) >= 2:
            gap = True
            continue
        if not (part.isascii() and part.isdigit()) or int(part) < 1:
            raise wrong
        if gap:
            _fill(values, int(part), what)
            gap = False
        values.append(int(part))
    if gap or any(a >= b for a, b in itertools.pairwise(values)):
        raise wrong
    if values[-1] > LARGEST:
        raise ZooError(f"{what}: {values[-1]} is more than {LARGEST:,}")
    if len(values) > MAX_VALUES:
        raise ZooError(f"{what}: {len(values)} values are more than {MAX_VALUES}")
    return tuple(values)


def _fill(values: list[int], last: int, what: str) -> None:
    """Continue the values up to ``last``, without it."""
    first, second = values[-2:]
    if second <= first:
        raise ZooError(f"{what}: {second} does not come after {first}")
    ratio = second // first if second % first == 0 else 1
    step = second - first if ratio == 1 else 0
    while (value := values[-1] * ratio + step) < last and len(values) <= MAX_VALUES:
        values.append(value)
    if value > last:
        raise ZooError(f"{what}: continuing {first},{second} never reaches {last}")


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
        changed = {"dim": value, "ffn_dim": max(1, round(value * base.ffn_dim / base.dim))}
    return base.model_copy(update=changed), value if over == "batch" else batch
