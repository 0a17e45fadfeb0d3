"""The conformance checks as pytest tests, for a plug-in's own test suite.

from zoo.testing import parametrize_with_checks

@parametrize_with_checks("attention/my-window")
def test_conforms(check):
    check()
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from zoo.conformance import (
    CheckResult,
    CheckSettings,
    consequences,
    consequences_line,
    result_lines,
    select_choices,
)
from zoo.conformance.check import ComponentCheck, checks_for

__all__ = ["ComponentCheck", "ComponentChecks", "component_checks", "parametrize_with_checks"]
T = TypeVar("T")


@dataclass(frozen=True)
class ComponentChecks:
    """The checks that apply to one component, as one test: call it to run them.

    component: ``kind/name(params)``.
    """

    component: str
    checks: tuple[ComponentCheck, ...]

    def __str__(self) -> str:
        return self.component

    def __call__(self) -> None:
        """Run all of them; the test fails with every check that failed.

        It is expected to fail (xfailed) where all that fails is, and skipped where nothing was
        checked.
        """
        import pytest

        results: dict[str, list[CheckResult]] = {}
        for check in self.checks:
            result = check.run()
            results.setdefault(result.status, []).append(result)
        if failed := results.get("failed"):
            title = f"{self.component} ({failed[0].owner}): {len(failed)} of {len(self.checks)}"
            others = consequences(failed)
            lines = [f"{title} checks failed"]
            lines += ["\n  ".join(result_lines(r)) for r in failed if r not in others]
            lines += filter(None, [consequences_line(failed)])
            pytest.fail("\n".join(lines), pytrace=False)
        if xfailed := results.get("xfailed"):
            pytest.xfail("; ".join(f"{result.check}: {result.message}" for result in xfailed))
        if "passed" not in results:
            reasons = (f"{result.check}: {result.message}" for result in results.get("skipped", ()))
            pytest.skip(f"nothing was checked; {'; '.join(reasons)}")


def component_checks(
    *components: str,
    plugin: str | Path | Sequence[str | Path] = (),
    distribution: str | Sequence[str] = (),
    expected_failures: Mapping[str, str] | None = None,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    settings: CheckSettings | None = None,
) -> list[ComponentChecks]:
    """The checks of every component named, those that apply to it.

    components: ``kind/name``, ``kind/name(param=value)``, ``kind/all`` or ``all``. plugin: a
    single file, or several, to load; without components, all that it registers is checked.
    distribution: all components of an installed distribution. expected_failures: ``"check-name"``
    or ``"kind/name:check-name"`` to the reason why it fails; the test fails if the check then
    passes or is skipped. only: the checks to run, all that apply unless given. without: checks that
    are not run, such as ``"compiled"``, which takes seconds. Raises ZooError for an unknown
    component or check, or an empty reason.
    """
    from zoo.registry.loading import load

    files = (plugin,) if isinstance(plugin, str | Path) else tuple(plugin)
    zoo = load(files=files)
    distributions = (distribution,) if isinstance(distribution, str) else tuple(distribution)
    choices = select_choices(zoo, components, files=not components, distributions=distributions)
    names = tuple(map(str, files))
    by_component: dict[str, list[ComponentCheck]] = {}
    options: dict[str, Any] = {"expected": expected_failures, "settings": settings}
    for check in checks_for(choices, files=names, only=only, without=without, **options):
        if check.expected or check.why_skipped is None:
            by_component.setdefault(check.component, []).append(check)
    return [ComponentChecks(component, tuple(checks)) for component, checks in by_component.items()]


def parametrize_with_checks(*components: str, **options: Any) -> Callable[[T], T]:
    """A pytest decorator: one test per component, in an argument called ``check``.

    The arguments are those of component_checks.
    """
    import pytest

    mark: Any = pytest.mark.parametrize("check", component_checks(*components, **options), ids=str)
    return mark  # type: ignore[no-any-return]
