"""Writes a new plug-in as a copy of one that works: what ``zoo new`` does."""

from __future__ import annotations

import ast
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
_DECLARED = (ast.ClassDef, ast.FunctionDef)
_STARTERS = files(__name__) / "starters"
STARTERS = tomllib.loads((_STARTERS / "starters.toml").read_text("utf-8"))
WRITTEN_KINDS = tuple(kind for kind in KINDS if kind in STARTERS)
# Fewer names than the registry takes: it also becomes a class, a package and a distribution.
_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")


@dataclass(frozen=True)
class NewPlugin:
    """A plug-in to write: ``my-window`` becomes the distribution ``zoo-my-window``.

    Raises ZooError for a kind that is not written, or an illegal name.
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
        part = _part(self.kind)
        if not isinstance(part, ast.ClassDef):
            return ""
        suffix = part.name.removeprefix("My")
        words = "".join(word.capitalize() for word in re.split("[-_]", self.name))
        stem = words[: -len(suffix)] if words.lower().endswith(suffix.lower()) else words
        name = (stem or "My") + suffix
        return (
            f"My{name}"
            if re.search(rf"\b{name}\b", _text(f"{self.kind}.py").replace(part.name, ""))
            else name
        )

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
        tests = ["test_conformance.py", f"test_{self.kind}.py"]
        return {
            **{name: self._filled(name) for name in ("pyproject.toml", "README.md")},
            f"src/{self.package}/__init__.py": f'"""{self.kind}/{self.name}, for the zoo."""\n',
            f"src/{self.package}/py.typed": "",
            f"src/{self.package}/{self.kind}.py": self._renamed(f"{self.kind}.py"),
            **{
                f"tests/{name}": self._renamed(name)
                for name in tests
                if (_STARTERS / name).is_file()
            },
        }

    def _renamed(self, file: str) -> str:
        """A starter with the names of this plug-in."""
        part, text = _part(self.kind), _text(file)
        names = {
            "zoo.registry.scaffold.starters": self.package,
            "attention/my-attention": f"{self.kind}/{self.name}",
            f"zoo-my-{self.kind}": self.distribution,
            f"my-{self.kind}": self.name,
            f"my_{self.kind}": self.name.replace("-", "_"),  # what a metric is called in records
            f"my {self.kind}": re.sub("[-_]", " ", self.name),
        }
        if isinstance(part, ast.ClassDef):
            names[part.name] = self.class_name
        known = re.compile("|".join(map(re.escape, names)))
        return known.sub(lambda match: names[match[0]], text)

    def _filled(self, file: str) -> str:
        summary = (ast.get_docstring(_part(self.kind)) or "").partition("\n")[0].removesuffix(".")
        return Template(_text(f"{file}.tmpl")).substitute(
            kind=self.kind,
            name=self.name,
            distribution=self.distribution,
            package=self.package,
            summary=summary,
            requirements=self._text("requirements"),
            zoo_version=".".join(__version__.split(".")[:2]),
            first_run=f"    {self.bench}\n" if self.bench else "",
            shows=fill(self._text("shows", ROWS), 100),
        )


def _text(file: str) -> str:
    return (_STARTERS / file).read_text("utf-8")


def _part(kind: str) -> ast.ClassDef | ast.FunctionDef:
    """The class or function that the starter of a kind declares."""
    nodes = (n for n in ast.parse(_text(f"{kind}.py")).body if isinstance(n, _DECLARED))
    return next(node for node in nodes if node.decorator_list)


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
