"""The conformance checks as pytest tests, for a plug-in's own test suite.

from zoo.testing import parametrize_with_checks

@parametrize_with_checks("attention/my-window")
def test_conforms(check):
    check()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.conformance.check import CheckSettings, ComponentCheck, checks_for, select_choices

__all__ = ["ComponentCheck", "component_checks", "parametrize_with_checks"]


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
    from zoo.registry.loading import load

    files = (plugin,) if isinstance(plugin, str | Path) else tuple(plugin)
    zoo = load(files=files)
    distributions = (distribution,) if isinstance(distribution, str) else tuple(distribution)
    choices = select_choices(zoo, components, files=not components, distributions=distributions)
    names = tuple(map(str, files))
    return checks_for(choices, files=names, settings=settings, expected=expected_failures)


def parametrize_with_checks(*components: str, **options: Any) -> Any:
    """A pytest decorator: one test per check and component, in an argument called ``check``.

    The arguments are those of component_checks.
    """
    import pytest

    return pytest.mark.parametrize("check", component_checks(*components, **options), ids=str)
