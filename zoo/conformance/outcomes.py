"""How a check can end, and what it may be told; no torch here."""

from __future__ import annotations

from dataclasses import dataclass

from zoo.errors import ZooError

# What a component may raise when asked for something that it does not declare.
REFUSALS = (ValueError, TypeError, NotImplementedError, ZooError)


class CheckFailed(AssertionError):  # noqa: N818 - the name of an outcome
    """The claim of a check is false; the message has the numbers."""


class CheckSkipped(Exception):  # noqa: N818 - the name of an outcome
    """The check does not apply to this component; the message says why."""


@dataclass(frozen=True)
class CheckSettings:
    """Options of a run of checks: the seed, and the back end of torch.compile."""

    seed: int = 0
    compile_backend: str = "aot_eager"
