"""Chooses the components to check, and runs checks. Torch is imported when the first one runs."""

from __future__ import annotations

import contextlib
import shlex
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from zoo.conformance.check import Check, CheckFailed, CheckSettings, CheckSkipped, checks_of
from zoo.errors import ComponentError, ZooError, nearest
from zoo.registry import KINDS, Choice
from zoo.registry.loading import Zoo
from zoo.registry.plugins import described

STATUSES = ("passed", "failed", "skipped", "xfailed")


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
        chosen += _of(zoo, {row.distribution for row in zoo.plugins[-len(zoo.files) :]})
    for distribution in distributions:
        found = _of(zoo, {distribution})
        if not found:
            hint = nearest(distribution, sorted({row.distribution for row in zoo.plugins}))
            raise ZooError(f"distribution '{distribution}' registers nothing{hint}")
        chosen += found
    if not chosen:
        raise ZooError("nothing to check; name components as kind/name, or say all")
    return list({(c.component.kind, str(c)): c for c in chosen}.values())


def _named(zoo: Zoo, name: str) -> list[Choice]:
    if name.strip() == "all":
        return _of(zoo)
    kind, slash, text = name.partition("/")
    if not slash or not text.strip():
        raise ZooError(f"'{name}' is no component; write it as kind/name, such as attention/fused")
    if kind not in KINDS:
        raise ZooError(f"no kind '{kind}'{nearest(kind, KINDS)}")
    if text.strip() == "all":
        return [one for c in zoo.registry.components(kind) for one in zoo.registry.examples(c)]
    return zoo.registry.choices(kind, text)


def _of(zoo: Zoo, distributions: set[str] | None = None) -> list[Choice]:
    """All components, or those of some distributions."""
    components = (c for kind in KINDS for c in zoo.registry.components(kind))
    return [
        choice
        for c in components
        if distributions is None or c.owner.distribution in distributions
        for choice in zoo.registry.examples(c)
    ]


def run_checks(
    choices: Iterable[Choice],
    *,
    only: Sequence[str] = (),
    files: Sequence[str] = (),
    settings: CheckSettings | None = None,
    expected: Mapping[str, str] | None = None,
) -> Iterator[CheckResult]:
    """Run every check of every choice, or those named in ``only``.

    files: the single-file plug-ins in use, for the command that repeats a result. expected:
    ``check`` or ``kind/name:check`` to the reason why it fails: it is ``xfailed`` then, and failed
    where it passes or is skipped.
    Raises ZooError, before anything is run, for a name that is a check of none of them.
    """
    choices, expected = list(choices), dict(expected or {})
    names = [
        (f"{choice.component.kind}/{choice}", name)
        for choice in choices
        for name in checks_of(choice.component.kind)
    ]
    possible = sorted({key for where, name in names for key in (name, f"{where}:{name}")})
    for key in expected:
        if key not in possible:
            raise ZooError(f"expected failure of an unknown check '{key}'{nearest(key, possible)}")
    known = {name for choice in choices for name in checks_of(choice.component.kind)}
    for name in only:
        if name not in known:
            raise ZooError(f"no check '{name}'{nearest(name, sorted(known))}")
    for choice in choices:
        for check in checks_of(choice.component.kind).values():
            if not only or check.name in only:
                result = _run(choice, check, files, settings or CheckSettings())
                whole = expected.get(f"{result.component}:{check.name}")
                yield as_expected(result, whole or expected.get(check.name, ""))


def as_expected(result: CheckResult, reason: str) -> CheckResult:
    """The result of a check that must fail for this reason; unchanged where the reason is empty."""
    if not reason:
        return result
    if result.status == "failed":
        return replace(result, status="xfailed", message=f"{reason} [{result.message}]")
    found = f"{result.status}{': ' if result.message else ''}{result.message}"
    what = f"expected to fail ({reason}), but it {found}"
    return replace(result, status="failed", message=what)


def run_check(
    choice: Choice, name: str, *, files: Sequence[str] = (), settings: CheckSettings | None = None
) -> CheckResult:
    """One check of one choice; ZooError where its kind has no check of that name."""
    kind = choice.component.kind
    checks = checks_of(kind)
    if name not in checks:
        raise ZooError(f"{kind} has no check '{name}'{nearest(name, checks)}")
    return _run(choice, checks[name], files, settings or CheckSettings())


def counts(results: Iterable[CheckResult]) -> dict[str, int]:
    """Status to number of results."""
    counter = Counter(result.status for result in results)
    return {s: counter[s] for s in STATUSES if counter[s] or s != "xfailed"}


def _run(
    choice: Choice, check: Check, files: Sequence[str], settings: CheckSettings
) -> CheckResult:
    start = time.perf_counter()
    status, message = _outcome(choice, check, files, settings)
    name = f"{choice.component.kind}/{choice}"
    return CheckResult(
        component=name,
        owner=str(choice.component.owner),
        check=check.name,
        claim=check.claim,
        status=status,
        message=message,
        seconds=round(time.perf_counter() - start, 4),
        repeat=_command(name, check.name, files, settings),
    )


def _outcome(
    choice: Choice, check: Check, files: Sequence[str], settings: CheckSettings
) -> tuple[str, str]:
    reason = check.applies(choice)
    if reason is not None:
        return "skipped", reason
    from zoo.conformance.setup import Setup
    from zoo.models.seeding import seeded

    try:
        # Each check has a seed of its own: running other checks changes nothing. What a component
        # prints goes to stderr, because stdout may be JSON.
        with (
            _one_thread(),
            contextlib.redirect_stdout(sys.stderr),
            seeded(settings.seed, f"checks/{check.kind}/{check.name}"),
        ):
            setup = Setup.of_kind.get(check.kind, Setup)
            check.body(setup(choice, settings, files))
    except CheckSkipped as skip:
        return "skipped", str(skip)
    except CheckFailed as failure:
        return "failed", str(failure)
    except KeyboardInterrupt:
        raise
    except ComponentError as error:
        # An optional dependency that the component names itself: nothing is wrong with it.
        if isinstance(error.__cause__, ModuleNotFoundError):
            return "skipped", str(error)
        return "failed", f"raised {described(error)}{_place(error)}"
    except BaseException as error:  # noqa: BLE001 - even SystemExit or pytest.skip is a failure
        return "failed", f"raised {described(error)}{_place(error)}"
    return "passed", ""


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


def _command(name: str, check: str, files: Sequence[str], settings: CheckSettings) -> str:
    words = ["zoo", "check", name, "--only", check]
    words += [word for file in files for word in ("--plugin", file)]
    if settings.seed:
        words += ["--seed", str(settings.seed)]
    if settings.compile_backend != CheckSettings().compile_backend:
        words += ["--compile", settings.compile_backend]
    return shlex.join(words)
