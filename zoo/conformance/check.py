"""What a check is, and how components are chosen and checked; imports torch when one is run."""

from __future__ import annotations

import contextlib
import importlib
import shlex
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from zoo.conformance.outcomes import CheckFailed, CheckSettings, CheckSkipped
from zoo.errors import ComponentError, ZooError, nearest, one_line
from zoo.registry import CAPABILITIES, KINDS, Choice
from zoo.registry.loading import Zoo

Applies = Callable[[Choice], str | None]
Body = TypeVar("Body", bound=Callable[..., None])
# The modules with checks, in the order in which these are run and listed.
_WITH_CHECKS = (
    "modules training attention texts exactness pe position_wise block "
    "whole_models baseline experiment"
)
CHECK_MODULES = tuple(f"zoo.conformance.{name}" for name in _WITH_CHECKS.split())
# Run before the others, which fail too where one of these does.
BASIC = ("contract", "shape-and-dtype", "padding-invariance", "causality", "exact", "permutation")
_CHECKS: dict[str, dict[str, Check]] = {kind: {} for kind in CAPABILITIES}
STATUSES = ("passed", "failed", "skipped", "xfailed")


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


def checks_of(kind: str) -> dict[str, Check]:
    """The checks of a kind by name, in the order in which they are run; imports torch."""
    for module in CHECK_MODULES:
        importlib.import_module(module)
    found = _CHECKS[kind]
    return {name: found[name] for name in dict.fromkeys([*BASIC, *found]) if name in found}


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


@dataclass(frozen=True)
class CheckResult:
    """The outcome of one check of one component.

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
    if files and zoo.files:
        # The last plug-ins are the files, one each.
        chosen += _every(zoo, of={row.distribution for row in zoo.plugins[-len(zoo.files) :]})
    for distribution in distributions:
        found = _every(zoo, of={distribution})
        if not found:
            hint = nearest(distribution, sorted({row.distribution for row in zoo.plugins}))
            raise ZooError(f"distribution '{distribution}' registers nothing{hint}")
        chosen += found
    if not chosen:
        raise ZooError("nothing to check; name components as kind/name, or say all")
    return list({(c.component.kind, str(c)): c for c in chosen}.values())


def _named(zoo: Zoo, name: str) -> list[Choice]:
    if name.strip() == "all":
        return _every(zoo)
    kind, slash, text = name.partition("/")
    if not slash or not text.strip():
        raise ZooError(f"'{name}' is no component; write it as kind/name, such as attention/fused")
    if kind not in KINDS:
        raise ZooError(f"no kind '{kind}'{nearest(kind, KINDS)}")
    return _every(zoo, [kind]) if text.strip() == "all" else zoo.registry.choices(kind, text)


def _every(
    zoo: Zoo, kinds: Iterable[str] = KINDS, of: Collection[str] | None = None
) -> list[Choice]:
    """All components of these kinds, or those of some distributions."""
    return [
        zoo.registry.example(component)
        for kind in kinds
        for component in zoo.registry.components(kind)
        if of is None or component.owner.distribution in of
    ]


@dataclass(frozen=True)
class ComponentCheck:
    """One check of one component.

    files: the single-file plug-ins in use, for the command that repeats the result. expected: why
    it is expected to fail, or empty.
    """

    choice: Choice
    check: Check
    files: tuple[str, ...] = ()
    settings: CheckSettings = field(default_factory=CheckSettings)
    expected: str = ""

    @property
    def name(self) -> str:
        """The name of the check."""
        return self.check.name

    @property
    def component(self) -> str:
        """``kind/name(params)``."""
        return f"{self.choice.component.kind}/{self.choice}"

    @property
    def why_skipped(self) -> str | None:
        """Why it does not apply to the component, by what this declares; None where it does."""
        return self.check.applies(self.choice)

    def __str__(self) -> str:
        return f"{self.component}:{self.name}"

    def run(self) -> CheckResult:
        """The outcome; ``xfailed`` where it fails as expected, failed where it then does not."""
        start = time.perf_counter()
        status, message = self._outcome()
        if self.expected and status == "failed":
            status, message = "xfailed", f"{self.expected} [{message}]"
        elif self.expected:
            found = f"{status}{': ' if message else ''}{message}"
            status, message = "failed", f"expected to fail ({self.expected}), but it {found}"
        return CheckResult(
            component=self.component,
            owner=str(self.choice.component.owner),
            check=self.name,
            claim=self.check.claim,
            status=status,
            message=message,
            seconds=round(time.perf_counter() - start, 4),
            repeat=self._command(),
        )

    def _outcome(self) -> tuple[str, str]:
        """The status and the message, whether it is expected to fail or not."""
        if self.why_skipped is not None:
            return "skipped", self.why_skipped
        from zoo.conformance.setup import Setup
        from zoo.models.seeding import seeded

        kind = self.check.kind
        try:
            # Each check has a seed of its own: running other checks changes nothing. What a
            # component prints goes to stderr, because stdout may be JSON.
            with (
                _one_thread(),
                contextlib.redirect_stdout(sys.stderr),
                seeded(self.settings.seed, f"checks/{kind}/{self.name}"),
            ):
                setup = Setup.of_kind.get(kind, Setup)(self.choice, self.settings, self.files)
                self.check.body(setup)
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
            return "failed", f"raised {one_line(error)}{_place(error)}"
        return "passed", ""

    def _command(self) -> str:
        """The command that runs only this check."""
        words = ["zoo", "check", self.component, "--only", self.name]
        words += [word for file in self.files for word in ("--plugin", file)]
        if self.settings.seed:
            words += ["--seed", str(self.settings.seed)]
        if self.settings.compile_backend != CheckSettings().compile_backend:
            words += ["--compile", self.settings.compile_backend]
        return shlex.join(words)


def checks_for(
    choices: Iterable[Choice],
    *,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    files: Sequence[str] = (),
    settings: CheckSettings | None = None,
    expected: Mapping[str, str] | None = None,
) -> list[ComponentCheck]:
    """Every check of every choice, or those named in ``only``, and none in ``without``.

    files: the single-file plug-ins in use. expected: ``check`` or ``kind/name:check`` to the reason
    why it fails. Raises ZooError for a name that is a check of none, and for an empty reason.
    """
    checks = [
        ComponentCheck(choice, check, tuple(files), settings or CheckSettings())
        for choice in choices
        for check in checks_of(choice.component.kind).values()
    ]
    names, reasons = {check.name for check in checks}, dict(expected or {})
    known = sorted(names | set(map(str, checks)))
    for key, reason in reasons.items():
        if key not in known:
            raise ZooError(f"expected failure of an unknown check '{key}'{nearest(key, known)}")
        if not isinstance(reason, str) or not reason.strip():
            raise ZooError(f"the expected failure of '{key}' needs a reason")
    for name in (*only, *without):
        if name not in names:
            raise ZooError(f"no check '{name}'{nearest(name, sorted(names))}")
    return [
        replace(check, expected=reasons.get(str(check), reasons.get(check.name, "")))
        for check in checks
        if (not only or check.name in only) and check.name not in without
    ]


def run_checks(choices: Iterable[Choice], **options: Any) -> Iterator[CheckResult]:
    """Run the checks that ``checks_for`` gives for these choices and options."""
    checks = checks_for(choices, **options)  # at once, so that a wrong name runs nothing
    return (check.run() for check in checks)


def consequences(results: Iterable[CheckResult]) -> list[CheckResult]:
    """The failures that follow a failed basic check of their component."""
    wrong: set[str] = set()
    found = []
    for result in results:
        if result.status == "failed" and result.component in wrong:
            found.append(result)
        elif result.status == "failed" and result.check in BASIC:
            wrong.add(result.component)
    return found


def result_lines(result: CheckResult) -> list[str]:
    """A result in lines; of a failure with the claim, the owner and the command that repeats it."""
    lines = [f"{result.check}: {result.message}" if result.message else result.check]
    if result.status == "failed":
        lines += [f"must hold: {result.claim}", f"owner:     {result.owner}"]
        lines += [f"repeat:    {result.repeat}"]
    return lines


def consequences_line(results: Iterable[CheckResult]) -> str | None:
    """A line on the failures that follow others; None where there are none."""
    names = [result.check for result in consequences(results)]
    many = f"{len(names)} others" if len(names) > 1 else "one more"
    return f"{many}, probably for the same reason: {', '.join(names)}" if names else None


def counts(results: Iterable[CheckResult]) -> dict[str, int]:
    """Status to number of results."""
    counter = Counter(result.status for result in results)
    return {s: counter[s] for s in STATUSES if counter[s] or s != "xfailed"}


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Tensors this small are slower on several threads, above all on a busy machine."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _place(error: BaseException) -> str:
    """Where an error was raised: the last frame outside libraries and the checks."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "site-packages" not in frame.filename and "/zoo/conformance/" not in frame.filename
    ]
    return f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
