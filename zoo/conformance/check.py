"""What a check is, and the decorator that adds one. No torch here."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from zoo.errors import ZooError
from zoo.registry import CAPABILITIES, Choice

Applies = Callable[[Choice], str | None]
Body = TypeVar("Body", bound=Callable[..., None])

# The modules with checks, in the order in which these are run and listed.
_WITH_CHECKS = (
    "registration modules grad_modes low_precision training_mode devices attention contexts "
    "masking exactness pe position_wise gradient_flow caching block residuals pool "
    "other_sizes extremes whole_models parameters_act baseline experiment reproducible"
)
MODULES = tuple(f"zoo.conformance.{name}" for name in _WITH_CHECKS.split())
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


@dataclass(frozen=True)
class Check:
    """One thing that must hold for the components of a kind.

    claim: what must hold, in one line. body: takes the kind's set-up, and raises CheckFailed where
    the claim is false. applies: why the check is skipped for a choice, or None.
    """

    name: str
    kind: str
    claim: str
    body: Callable[[Any], None]
    applies: Applies


_CHECKS: dict[str, dict[str, Check]] = {kind: {} for kind in CAPABILITIES}


def checks_of(kind: str) -> dict[str, Check]:
    """The checks of a kind by name, in the order in which they are run; imports torch."""
    for module in MODULES:
        importlib.import_module(module)
    return _CHECKS[kind]


def check(
    *kinds: str,
    name: str = "",
    needs: str = "",
    unless: str = "",
    applies: Applies = lambda choice: None,
) -> Callable[[Body], Body]:
    """Add a function to the checks of some kinds.

    Its name, with dashes, is the check's unless given; its docstring, one line, is the claim. It
    is skipped for components that do not declare all of ``needs``, or that declare ``unless``.
    """

    def why_skipped(choice: Choice) -> str | None:
        if missing := [repr(c) for c in needs.split() if not choice.can(c)]:
            return f"it does not declare {', '.join(missing)}"
        return f"it declares {unless!r}" if choice.can(unless) else applies(choice)

    def add(body: Body) -> Body:
        called = name or body.__name__.replace("_", "-")
        claim = (body.__doc__ or "").strip()
        assert len(claim.splitlines()) == 1, f"check {called} must state its claim in one line"
        for kind in kinds:
            assert called not in _CHECKS[kind], f"two checks of {kind} are named {called}"
            _CHECKS[kind][called] = Check(called, kind, claim, body, why_skipped)
        return body

    return add
