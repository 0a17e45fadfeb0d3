"""Writes a new plug-in from templates: the work of ``zoo new``."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from string import Template

from zoo import __version__
from zoo.errors import ZooError, nearest
from zoo.registry import AXES

__all__ = ["NewPlugin", "write_plugin"]

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


@dataclass(frozen=True)
class Starter:
    """The component a new plug-in starts from.

    suffix: of its class name. compare_with: a built-in of the same kind. summary: what it computes
    as written. capabilities, parameters: the arguments of ``register``, as Python source.
    """

    suffix: str
    compare_with: str
    summary: str
    capabilities: str = ""
    parameters: str = ""


STARTERS = {
    "attention": Starter(
        "Attention",
        "fused",
        "softmax attention with a sharpness",
        '"rotate", "bias", "padding", "causal", "cross", "cache"',
        '"sharpness": 1.0',
    ),
    "pe": Starter(
        "Positions",
        "rope",
        "scores lowered by the logarithm of distance",
        '"bias", "order"',
        '"strength": 1.0',
    ),
    "norm": Starter(
        "Norm",
        "rms",
        "unit mean absolute value, learned scale",
        '"scale-invariant",',
        '"eps": 1e-6',
    ),
    "ffn": Starter("FFN", "gelu", "two linear layers with Mish in between"),
    "block": Starter("Block", "pre", "x + norm(sub-layer(x))", '"residual", "cross"'),
    "pool": Starter("Pool", "mean", "maximum of each feature over real tokens"),
}


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
        source = f"src/{self.package}/"
        folders = {
            "__init__.py": source,
            f"{self.kind}.py": source,
            "test_conformance.py": "tests/",
        }
        templates = ("pyproject.toml", "README.md", *folders)
        rendered = {folders.get(t, "") + t: self._render(t) for t in templates}
        return rendered | {f"{source}py.typed": ""}

    def _render(self, template: str) -> str:
        starter = STARTERS[self.kind]
        text = files(__name__).joinpath("templates", f"{template}.tmpl").read_text("utf-8")
        return Template(text).substitute(
            asdict(self) | asdict(starter),
            distribution=self.distribution,
            package=self.package,
            class_name=self.class_name,
            Summary=starter.summary[:1].upper() + starter.summary[1:],
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
