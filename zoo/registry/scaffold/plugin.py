"""The files of a new plug-in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template

from zoo import __version__
from zoo.errors import ZooError, nearest
from zoo.registry import AXES
from zoo.registry.scaffold.starters import STARTERS

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


@dataclass(frozen=True)
class NewPlugin:
    """A plug-in to write: ``my-window`` becomes the distribution ``zoo-my-window``.

    Raises ZooError for a kind that is no axis, or an illegal name.
    """

    kind: str
    name: str

    def __post_init__(self) -> None:
        if self.kind not in AXES:
            raise ZooError(f"no kind '{self.kind}' to write{nearest(self.kind, AXES)}")
        if self.name == "all" or not _NAME.fullmatch(self.name):
            raise ZooError(
                f"illegal name '{self.name}'; it takes lower-case letters, digits and single "
                "hyphens, starts with a letter, and is not 'all'; such as my-window"
            )

    @property
    def distribution(self) -> str:
        """The distribution's name, and its folder's."""
        return f"zoo-{self.name}"

    @property
    def package(self) -> str:
        """The name of the package to import."""
        return self.distribution.replace("-", "_")

    @property
    def class_name(self) -> str:
        """The name of the component's class: ``MyWindowAttention``."""
        words = "".join(word.capitalize() for word in self.name.split("-"))
        return words + STARTERS[self.kind].suffix

    def files(self) -> dict[str, str]:
        """Path inside the folder to text, for every file."""
        source = f"src/{self.package}"
        return {
            "pyproject.toml": self._render("pyproject.toml"),
            "README.md": self._render("README.md"),
            f"{source}/__init__.py": self._render("__init__.py"),
            f"{source}/{self.kind}.py": self._render(f"{self.kind}.py"),
            f"{source}/py.typed": "",
            "tests/test_conformance.py": self._render("test_conformance.py"),
        }

    def _render(self, template: str) -> str:
        starter = STARTERS[self.kind]
        templates = files("zoo.registry.scaffold").joinpath("templates")
        text = templates.joinpath(f"{template}.tmpl").read_text("utf-8")
        return Template(text).substitute(
            kind=self.kind,
            name=self.name,
            distribution=self.distribution,
            package=self.package,
            class_name=self.class_name,
            summary=starter.summary,
            Summary=starter.summary[:1].upper() + starter.summary[1:],
            capabilities=starter.capabilities,
            parameters=starter.parameters,
            compare_with=starter.compare_with,
            zoo_version=".".join(__version__.split(".")[:2]),
        )


def write_plugin(plugin: NewPlugin, into: Path) -> Path:
    """Write the plug-in's folder into ``into``, and return its path.

    Raises ZooError where it exists already or cannot be written.
    """
    contents = plugin.files()
    folder = into / plugin.distribution
    try:
        into.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
        for name, text in contents.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    except FileExistsError as error:
        raise ZooError(f"{error.filename} exists already; nothing is written over") from error
    except OSError as error:
        raise ZooError(f"cannot write {error.filename}: {error.strerror}") from error
    return folder
