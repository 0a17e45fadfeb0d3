"""The conformance checks as pytest tests, for a plug-in's own test suite.

from zoo.testing import parametrize_with_checks

@parametrize_with_checks("attention/my-window")
def test_conforms(check):
    check()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.conformance.check import CheckSettings
from zoo.errors import ZooError, nearest

if TYPE_CHECKING:
    from zoo.registry import Choice

__all__ = ["ComponentCheck", "component_checks", "parametrize_with_checks"]


@dataclass(frozen=True)
class ComponentCheck:
    """One check of one component; call it to run it.

    expected: why it is expected to fail, or empty.
    """

    choice: Choice
    name: str
    files: tuple[str, ...] = ()
    settings: CheckSettings = field(default_factory=CheckSettings)
    expected: str = ""

    @property
    def component(self) -> str:
        """``kind/name(params)``."""
        return f"{self.choice.component.kind}/{self.choice}"

    def __str__(self) -> str:
        return f"{self.component}:{self.name}"

    def __call__(self) -> None:
        """Run it under pytest: it passes, fails, is skipped, or fails as expected."""
        import pytest

        from zoo.conformance.runner import run_check

        result = run_check(self.choice, self.name, files=self.files, settings=self.settings)
        about = f"{result.component} ({result.owner}), {result.check}"
        if self.expected and result.status == "failed":
            pytest.xfail(f"{self.expected} [{result.message}]")
        if self.expected:
            found = f"{result.status}{': ' if result.message else ''}{result.message}"
            what = f"{about}: expected to fail ({self.expected}), but it {found}"
            pytest.fail(what, pytrace=False)
        if result.status == "skipped":
            pytest.skip(result.message)
        if result.status == "failed":
            pytest.fail(
                f"{about}: {result.message}\n  must hold: {result.claim}\n"
                f"  repeat: {result.repeat}",
                pytrace=False,
            )


def component_checks(
    *components: str,
    plugin: str | Path | Sequence[str | Path] = (),
    distribution: str | Sequence[str] = (),
    expected_failures: Mapping[str, str] | None = None,
    settings: CheckSettings | None = None,
) -> list[ComponentCheck]:
    """Every check of every component named.

    components: ``kind/name``, ``kind/name(param=value)``, ``kind/all`` or ``all``. plugin: a
    single file, or several, to load; without components, all that it registers is checked.
    distribution: all components of an installed distribution. expected_failures: ``"check-name"``
    or ``"kind/name:check-name"`` to the reason why it fails; the test fails if the check then
    passes or is skipped. Raises ZooError for an unknown component or check, or an empty reason.
    """
    from zoo.conformance import checks_of, select_choices
    from zoo.registry.loading import load

    files = (plugin,) if isinstance(plugin, str | Path) else tuple(plugin)
    zoo = load(files=files)
    distributions = (distribution,) if isinstance(distribution, str) else tuple(distribution)
    choices = select_choices(zoo, components, files=not components, distributions=distributions)
    checks = [
        ComponentCheck(choice, name, tuple(map(str, files)), settings or CheckSettings())
        for choice in choices
        for name in checks_of(choice.component.kind)
    ]
    return _expecting(checks, dict(expected_failures or {}))


def parametrize_with_checks(*components: str, **options: Any) -> Any:
    """A pytest decorator: one test per check and component, in an argument called ``check``.

    The arguments are those of component_checks.
    """
    import pytest

    return pytest.mark.parametrize("check", component_checks(*components, **options), ids=str)


def _expecting(checks: list[ComponentCheck], reasons: dict[str, str]) -> list[ComponentCheck]:
    """The checks, each with the reason why it is expected to fail, where there is one."""
    known = {key for check in checks for key in (check.name, str(check))}
    for key, reason in reasons.items():
        if key not in known:
            raise ZooError(f"expected failure of an unknown check '{key}'{nearest(key, known)}")
        if not isinstance(reason, str) or not reason.strip():
            raise ZooError(f"the expected failure of '{key}' needs a reason")
    return [
        replace(check, expected=reasons.get(str(check), reasons.get(check.name, "")))
        for check in checks
    ]
