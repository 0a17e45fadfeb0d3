"""Writes a new plug-in from templates: the work of ``zoo new``."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from textwrap import fill

from zoo import __version__
from zoo.errors import ZooError, nearest
from zoo.registry import KINDS

__all__ = ["WRITTEN_KINDS", "NewPlugin", "write_plugin"]

# A first run takes seconds: no costs, one layer, and the beginning of each text.
QUICK = "--data newswire --phases train --seeds 1 --set layers=1 --max-length 64"
MORE = "Without `--phases train` speed and memory are measured as well, which takes longer."
ROWS = (
    "The last line trains a small model with it and one with the other, and prints one row for "
    "each. MORE"
)
_TEMPLATES = files(__name__) / "templates"
# The component that a new plug-in of each kind starts from. summary: what it computes as written.
# suffix: of its class name, or factory: the name of its function. capabilities, parameters,
# requirements: arguments of ``register`` and dependencies, as source. bench: the options of a first
# run of NAME, where one has it alone; shows: what that run prints. QUICK and MORE are as above.
STARTERS = tomllib.loads((_TEMPLATES / "starters.toml").read_text("utf-8"))
WRITTEN_KINDS = tuple(kind for kind in KINDS if kind in STARTERS)
# Fewer names than the registry takes: it also becomes a class, a package and a distribution.
_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")


@dataclass(frozen=True)
class NewPlugin:
    """A plug-in to write: ``my-window`` becomes the distribution ``zoo-my-window``.

    Raises ZooError for a kind that has no template, or an illegal name.
    """

    kind: str
    name: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ZooError(f"no kind '{self.kind}' to write{nearest(self.kind, WRITTEN_KINDS)}")
        if self.kind not in WRITTEN_KINDS:
            raise ZooError(
                f"zoo new writes no {self.kind}: plugins/README.md in the repository says under "
                f"'{self.kind}' what one is derived from. It writes: {', '.join(WRITTEN_KINDS)}"
            )
        if self.name == "all" or not _NAME.fullmatch(self.name):
            raise ZooError(
                f"illegal name '{self.name}'; it takes lower-case letters, digits and single "
                "hyphens or underscores, starts with a letter, and is not 'all'; such as my-window"
            )

    @property
    def distribution(self) -> str:
        """The distribution's name, and its folder's."""
        return f"zoo-{self.name.replace('_', '-')}"

    @property
    def package(self) -> str:
        """The name of the package to import."""
        return self.distribution.replace("-", "_")

    @property
    def class_name(self) -> str:
        """The name of the component's class: ``MyWindowAttention``; empty for a function.

        A name that ends in the suffix does not get it twice, and a name that the file imports, such
        as that of the base class, gets ``My`` before it.
        """
        suffix = STARTERS[self.kind].get("suffix", "")
        if not suffix:
            return ""
        words = "".join(word.capitalize() for word in re.split("[-_]", self.name))
        stem = words[: -len(suffix)] if words.lower().endswith(suffix.lower()) else words
        name = (stem or "My") + suffix
        return f"My{name}" if re.search(rf"\b{name}\b", _template(f"{self.kind}.py")) else name

    @property
    def bench(self) -> str:
        """The command of a first run; empty for a kind that no run shows alone."""
        options = self._text("bench")
        return f"zoo bench {options}" if options else ""

    def _text(self, field: str, default: str = "") -> str:
        """A field of what it starts from, with the words in capitals written out."""
        text: str = STARTERS[self.kind].get(field, default)
        return text.replace("NAME", self.name).replace("QUICK", QUICK).replace("MORE", MORE)

    def files(self) -> dict[str, str]:
        """Path inside the folder to text, for every file."""
        source = f"src/{self.package}/"
        folders = {
            "pyproject.toml": "",
            "README.md": "",
            "__init__.py": source,
            f"{self.kind}.py": source,
            "test_conformance.py": "tests/",
        }
        if (_TEMPLATES / f"test_{self.kind}.py.tmpl").is_file():
            folders[f"test_{self.kind}.py"] = "tests/"
        rendered = {folder + name: self._render(name) for name, folder in folders.items()}
        return rendered | {f"{source}py.typed": ""}

    def _render(self, template: str) -> str:
        text, summary = Template(_template(template)), self._text("summary")
        return text.substitute(
            kind=self.kind,
            name=self.name,
            distribution=self.distribution,
            package=self.package,
            class_name=self.class_name,
            factory=self.class_name or self._text("factory"),
            identifier=self.name.replace("-", "_"),  # what a metric is called in records
            label=re.sub("[-_]", " ", self.name),
            summary=summary,
            Summary=summary[:1].upper() + summary[1:],
            capabilities=self._text("capabilities"),
            parameters=self._text("parameters"),
            requirements=self._text("requirements"),
            zoo_version=".".join(__version__.split(".")[:2]),
            first_run=f"    {self.bench}\n" if self.bench else "",
            shows=fill(self._text("shows", ROWS), 100),
        )


def _template(name: str) -> str:
    return (_TEMPLATES / f"{name}.tmpl").read_text("utf-8")


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
