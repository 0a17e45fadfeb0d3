"""How a check can end, and what it may be told; no torch here."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import Path

from zoo.errors import one_line


class CheckFailed(AssertionError):  # noqa: N818 - the name of an outcome
    """The claim of a check is false; the message has the numbers."""


class CheckSkipped(Exception):  # noqa: N818 - the name of an outcome
    """The check does not apply to this part; the message says why."""


@dataclass(frozen=True)
class CheckSettings:
    """Options of a run: the seed, and whether more is tried, which takes longer."""

    seed: int = 0
    thorough: bool = False


def raised(error: BaseException) -> str:
    """What was raised, and where: the last frame outside of libraries and the checks."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "site-packages" not in frame.filename and "/zoo/conformance/" not in frame.filename
    ]
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"raised {one_line(error)}{place}"
