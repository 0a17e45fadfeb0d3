"""Writes a new plug-in from templates: the work of ``zoo new``."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from textwrap import fill

from zoo import __version__
from zoo.errors import ZooError, nearest
from zoo.registry import KINDS

__all__ = ["WRITTEN_KINDS", "NewPlugin", "write_plugin"]

# A first run takes seconds: no costs, one layer, and the beginning of each text.
QUICK = "--data newswire --phases train --epochs 2 --layers 1 --max-length 64"
MORE = "Without `--phases train` speed and memory are measured as well, which takes longer."
ROWS = (
    "The last line trains a small model with it and one with the other, and prints one row for "
    f"each. {MORE}"
)


@dataclass(frozen=True)
class Starter:
    """The component that a new plug-in of a kind starts from.

    summary: what it computes as written. suffix: of its class name; empty where the factory is a
    function, named ``function``. capabilities, parameters: the arguments of ``register``, as Python
    source. bench: the options of its first run, with ``NAME`` for the component; empty where no run
    has it alone. shows: what that run prints. requires: what it imports besides torch and the zoo.
    """

    summary: str
    suffix: str = ""
    function: str = ""
    capabilities: str = ""
    parameters: str = ""
    bench: str = ""
    shows: str = ROWS
    requires: tuple[str, ...] = ()


STARTERS = {
    "attention": Starter(
        "softmax attention with a sharpness",
        suffix="Attention",
        capabilities='"rotate", "bias", "content-bias", "padding", "causal", "cross", "cache"',
        parameters='"sharpness": 1.0',
        bench=f"--attention NAME,fused {QUICK}",
    ),
    "pe": Starter(
        "scores lowered by the logarithm of distance",
        suffix="Encoding",
        capabilities='"bias", "order"',
        parameters='"strength": 1.0',
        bench=f"--pe NAME,rope {QUICK}",
    ),
    "norm": Starter(
        "unit mean absolute value, learned scale",
        suffix="Norm",
        capabilities='"scale-invariant",',
        parameters='"eps": 1e-6',
        bench=f"--norm NAME,rms {QUICK}",
    ),
    "ffn": Starter(
        "two linear layers with Mish in between",
        suffix="FFN",
        bench=f"--ffn NAME,gelu {QUICK}",
    ),
    "block": Starter(
        "x + norm(sub-layer(x))",
        suffix="Block",
        capabilities='"residual", "cross"',
        bench=f"--block NAME,pre {QUICK}",
    ),
    "pool": Starter(
        "maximum of each feature over real tokens",
        suffix="Pool",
        bench=f"--pool NAME,mean {QUICK}",
    ),
    "data": Starter(
        "which of two words comes first, among others",
        function="load",
        capabilities='"text-labels",',
        parameters='"seed": 0, "train": 1000, "test": 400, "length": 12',
        bench="--data NAME --pe rope,none --phases train --epochs 5 --layers 1",
        shows="The last line trains two small models on it: one that sees the order of the words, "
        f"and one that does not and is left to guess, as the baseline is. {MORE}",
    ),
    "baseline": Starter(
        "naive Bayes on the counts of words",
        suffix="Baseline",
        capabilities='"texts", "deterministic"',
        parameters='"smoothing": 1.0',
        bench=f"--baseline NAME,tfidf-logreg {QUICK}",
        shows="The last line fits it and the bag of words that is the zoo's own baseline, trains a "
        "small model, and prints a row for each. A second row, with `whole=True`, has it on whole "
        "texts, of which a model reads the beginning.",
        requires=("scikit-learn>=1.4",),
    ),
    "task": Starter(
        "text classification that stops at a level of loss",
        suffix="Task",
        bench=f"--task NAME --attention fused,naive {QUICK}",
        shows="The last line trains two small models for it, and prints one row for each.",
    ),
    "metric": Starter(
        "the lowest recall of any class",
        function="metric",
        shows="Tables have it where a task names it: add it to the `metrics` of a task of your "
        "own, such as one that `zoo new task` writes.",
    ),
}

WRITTEN_KINDS = tuple(kind for kind in KINDS if kind in STARTERS)
# Fewer names than the registry takes: it also becomes a class, a package and a distribution.
_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
_TEMPLATES = files(__name__) / "templates"


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
    def starter(self) -> Starter:
        """The component that it starts from."""
        return STARTERS[self.kind]

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
        suffix = self.starter.suffix
        if not suffix:
            return ""
        words = "".join(word.capitalize() for word in re.split("[-_]", self.name))
        stem = words[: -len(suffix)] if words.lower().endswith(suffix.lower()) else words
        name = (stem or "My") + suffix
        return f"My{name}" if re.search(rf"\b{name}\b", _template(f"{self.kind}.py")) else name

    @property
    def bench(self) -> str:
        """The command of a first run; empty for a kind that no run shows alone."""
        options = self.starter.bench.replace("NAME", self.name)
        return f"zoo bench {options}" if options else ""

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
        starter, text = self.starter, Template(_template(template))
        return text.substitute(
            asdict(self) | asdict(starter),
            distribution=self.distribution,
            package=self.package,
            class_name=self.class_name,
            factory=self.class_name or starter.function,
            identifier=self.name.replace("-", "_"),  # what a metric is called in records
            label=re.sub("[-_]", " ", self.name),
            Summary=starter.summary[:1].upper() + starter.summary[1:],
            zoo_version=".".join(__version__.split(".")[:2]),
            requirements="".join(f', "{one}"' for one in starter.requires),
            first_run=f"    {self.bench}\n" if self.bench else "",
            shows=fill(starter.shows.replace("NAME", self.name), 100),
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
