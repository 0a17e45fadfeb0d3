"""The conformance checks as pytest tests, for a plug-in's own test suite.

from zoo.testing import checks

test_conforms = checks("attention/my-window")

Each test is one mechanism of ``zoo check``. This module is a pytest plug-in too:
``pytest --zoo-part mine.py`` runs the checks of all that a file registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

    from zoo.conformance.check import ComponentCheck
    from zoo.conformance.outcomes import CheckSettings

__all__ = ["checks", "component_checks"]


def component_checks(
    *components: str,
    plugin: str | Path | Sequence[str | Path] = (),
    distribution: str | Sequence[str] = (),
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    settings: CheckSettings | None = None,
) -> list[ComponentCheck]:
    """The checks of every component named; a check is run as a test by calling it.

    components: ``kind/name``, ``kind/name(param=value)``, ``kind/all`` or ``all``. plugin: a
    single file, or several, to load; without components, all that it registers is checked.
    distribution: all components of an installed distribution. only: the checks to run, all unless
    given. without: checks that are not run, such as ``"compiled"``, which takes seconds. Raises
    ZooError for an unknown component or check.
    """
    from zoo.conformance.check import checks_for, select_choices
    from zoo.registry.loading import load

    files = (plugin,) if isinstance(plugin, str | Path) else tuple(plugin)
    distributions = (distribution,) if isinstance(distribution, str) else tuple(distribution)
    zoo = load(files=files)
    choices = select_choices(zoo, components, files=not components, distributions=distributions)
    names = tuple(map(str, files))
    return checks_for(choices, files=names, only=only, without=without, settings=settings)


def checks(*components: str, **options: Any) -> Callable[..., None]:
    """A test for each check: ``test_conforms = checks("attention/my-window")``.

    The arguments are those of component_checks.
    """
    import pytest

    @pytest.mark.parametrize("check", component_checks(*components, **options), ids=str)
    def test(check: ComponentCheck) -> None:
        check()

    return test


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--zoo-part``."""
    help_text = "a single-file plug-in: run the checks of all that it registers"
    parser.getgroup("zoo").addoption(
        "--zoo-part", action="append", default=[], metavar="FILE", help=help_text
    )


def pytest_configure(config: pytest.Config) -> None:
    """Where nothing else is named, the files of ``--zoo-part`` are all that is collected."""
    import pytest

    if parts := config.getoption("--zoo-part"):
        named = config.args_source is pytest.Config.ArgsSource.ARGS
        config.args = [*(config.args if named else []), *parts]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The checks of a file of ``--zoo-part``."""
    parts = parent.config.getoption("--zoo-part")
    if file_path not in {Path(part).resolve() for part in parts}:
        return None
    import pytest

    class PartFile(pytest.File):
        def collect(self) -> Iterator[pytest.Item]:
            for check in component_checks(plugin=self.path):
                yield pytest.Function.from_parent(self, name=str(check), callobj=check)

    collector: pytest.Collector = PartFile.from_parent(parent, path=file_path)
    return collector
