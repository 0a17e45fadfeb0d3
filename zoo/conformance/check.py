"""What a check is, and how parts are chosen and checked; imports torch when one is run."""

from __future__ import annotations

import contextlib
import importlib
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from zoo.conformance.outcomes import CheckFailed, CheckSettings, CheckSkipped, raised
from zoo.errors import ComponentError, ZooError, nearest
from zoo.registry import AXES, KINDS, Choice
from zoo.registry.loading import Zoo

MODULES = (*AXES, "baseline")  # the kinds whose parts may be modules of torch
# The mechanisms, each with the kinds that it holds for, in the order in which they are run: basic
# before subtle, compiling last. The function of a mechanism has its name, as its module has.
MECHANISMS = {
    "declares": KINDS,
    **dict.fromkeys(("surroundings", "values", "purity", "slopes"), MODULES),
    "baselines": ("baseline",),
    "data": ("data",),
    "laws": ("metric",),
    "tasks": ("task",),
    "runs": ("executor", "tracker"),
    "compiled": MODULES,
}
STATUSES = ("passed", "failed", "skipped")


def checks_of(kind: str) -> dict[str, Callable[[Any], None]]:
    """The checks of a kind by name, in the order in which they are run; imports torch.

    The docstring of one, a line, is its claim. It takes a part's adaptor, and raises CheckFailed
    where the claim is false, or CheckSkipped where it says nothing of the part.
    """
    return {
        name: getattr(importlib.import_module(f"zoo.conformance.{name}"), name)
        for name, kinds in MECHANISMS.items()
        if kind in kinds
    }


@dataclass(frozen=True)
class CheckResult:
    """The outcome of one check of one part.

    component: ``kind/name(params)``. status: one of STATUSES. message: the numbers of a failure
    or the reason of a skip. repeat: the command that runs only this check.
    """

    component: str
    owner: str
    check: str
    claim: str
    status: str
    message: str
    seconds: float
    repeat: str


def select_choices(
    zoo: Zoo, names: Iterable[str], *, files: bool = False, distributions: Iterable[str] = ()
) -> list[Choice]:
    """The choices asked for, each once, in the order of asking.

    names: ``kind/name``, ``kind/name(param=value)``, ``kind/all`` or ``all``. files: also all
    components of single-file plug-ins. distributions: also all components of these.
    Raises ZooError where a name is unknown or nothing is left to check.
    """
    chosen = [choice for name in names for choice in _named(zoo, name)]
    own = zoo.plugins[len(zoo.plugins) - len(zoo.files) :] if files else ()  # one for each file
    for owner in (*(row.distribution for row in own), *distributions):
        chosen += (choices := _every(zoo, of=owner))
        if not choices:
            hint = nearest(owner, sorted({row.distribution for row in zoo.plugins}))
            raise ZooError(f"'{owner}' registers nothing{hint}")
    if not chosen:
        raise ZooError("nothing to check; name components as kind/name, or say all")
    return list({(c.component.kind, str(c)): c for c in chosen}.values())


def _named(zoo: Zoo, name: str) -> list[Choice]:
    if name.strip() == "all":
        return _every(zoo)
    kind, slash, text = name.partition("/")
    if not slash or not text.strip():
        raise ZooError(f"'{name}' is no component; write it as kind/name, such as attention/fused")
    return _every(zoo, [kind]) if text.strip() == "all" else zoo.registry.choices(kind, text)


def _every(zoo: Zoo, kinds: Iterable[str] = KINDS, of: str = "") -> list[Choice]:
    """All components of these kinds, or those of one distribution."""
    return [
        zoo.registry.example(component)
        for kind in kinds
        for component in zoo.registry.components(kind)
        if of in ("", component.owner.distribution)
    ]


@dataclass(frozen=True)
class ComponentCheck:
    """One check of one part. files: the single-file plug-ins in use, to repeat the result."""

    choice: Choice
    name: str
    files: tuple[str, ...] = ()
    settings: CheckSettings = field(default_factory=CheckSettings)

    @property
    def component(self) -> str:
        """``kind/name(params)``."""
        return f"{self.choice.component.kind}/{self.choice}"

    def __str__(self) -> str:
        return f"{self.component}:{self.name}"

    def __call__(self) -> None:
        """Run it as a test of pytest: what failed fails it, what says nothing is skipped."""
        import pytest

        result = self.run()
        if result.status == "failed":
            lines = "\n  ".join(result_lines(result))
            pytest.fail(f"{result.component} ({result.owner}): {lines}", pytrace=False)
        if result.status == "skipped":
            pytest.skip(result.message)

    def run(self) -> CheckResult:
        """The outcome of the check."""
        start, body = time.perf_counter(), checks_of(self.choice.component.kind)[self.name]
        status, message = self._outcome(body)
        return CheckResult(
            component=self.component,
            owner=str(self.choice.component.owner),
            check=self.name,
            claim=body.__doc__ or "",
            status=status,
            message=message,
            seconds=round(time.perf_counter() - start, 4),
            repeat=self._command(),
        )

    def _outcome(self, body: Callable[[Any], None]) -> tuple[str, str]:
        """The status and the message."""
        import torch

        from zoo.conformance.parts import Part
        from zoo.models.seeding import seeded

        # Tensors this small are slower on several threads, above all on a busy machine.
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            # Each check has a seed of its own: running other checks changes nothing. What a
            # component prints goes to stderr, because stdout may be JSON.
            with (
                contextlib.redirect_stdout(sys.stderr),
                seeded(self.settings.seed, f"checks/{self.choice.component.kind}/{self.name}"),
            ):
                body(Part(self.choice, self.settings, self.files))
        except CheckSkipped as skip:
            return "skipped", str(skip)
        except CheckFailed as failure:
            return "failed", str(failure)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - even SystemExit or pytest.skip is a failure
            # An optional dependency that the component names itself: nothing is wrong with it.
            missing = isinstance(error.__cause__, ModuleNotFoundError)
            if missing and isinstance(error, ComponentError):
                return "skipped", str(error)
            return "failed", raised(error)
        finally:
            torch.set_num_threads(threads)
        return "passed", ""

    def _command(self) -> str:
        """The command that runs only this check."""
        words = ["zoo", "check", self.component, "--only", self.name]
        words += [word for file in self.files for word in ("--plugin", file)]
        if self.settings.seed:
            words += ["--seed", str(self.settings.seed)]
        words += ["--thorough"] * self.settings.thorough
        return shlex.join(words)


def checks_for(
    choices: Iterable[Choice],
    *,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    files: Sequence[str] = (),
    settings: CheckSettings | None = None,
) -> list[ComponentCheck]:
    """Every check of every choice, or those named in ``only``, and none in ``without``.

    files: the single-file plug-ins in use. Raises ZooError for a name that is a check of none.
    """
    checks = [
        ComponentCheck(choice, name, tuple(files), settings or CheckSettings())
        for choice in choices
        for name, kinds in MECHANISMS.items()
        if choice.component.kind in kinds
    ]
    names = sorted({check.name for check in checks})
    for name in (*only, *without):
        if name not in names:
            raise ZooError(f"no check '{name}'{nearest(name, names)}")
    wanted = {*(only or names)} - {*without}
    return [check for check in checks if check.name in wanted]


def run_checks(
    choices: Iterable[Choice],
    announce: Callable[[ComponentCheck], None] = lambda check: None,
    **options: Any,
) -> Iterator[CheckResult]:
    """Run the checks that ``checks_for`` gives, each once it is announced."""
    from zoo.conformance.elsewhere import OTHER

    checks = checks_for(choices, **options)  # all at once, so that a wrong name runs nothing
    if any(check.name in ("purity", "data", "baselines", "compiled") for check in checks):
        OTHER.start()  # it imports torch meanwhile

    def run(check: ComponentCheck) -> CheckResult:
        announce(check)
        return check.run()

    return map(run, checks)


def result_lines(result: CheckResult) -> list[str]:
    """A result in lines; of a failure with the claim, the owner and the command that repeats it."""
    lines = [f"{result.check}: {result.message}" if result.message else result.check]
    if result.status == "failed":
        lines += [f"must hold: {result.claim}", f"owner:     {result.owner}"]
        lines += [f"repeat:    {result.repeat}"]
    return lines


def counts(results: Iterable[CheckResult]) -> dict[str, int]:
    """Status to number of results."""
    counter = Counter(result.status for result in results)
    return {status: counter[status] for status in STATUSES}
