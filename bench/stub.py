"""Write ``zoo/__init__.pyi``, which editors and type checkers read: ``python -m bench.stub``.

``zoo.bench`` and ``zoo.train`` take every option by name. They make their signatures from the
models of a request when they are imported, which a static tool cannot do.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zoo

FILE = Path(zoo.__file__).parent / "__init__.pyi"
HEAD = '''# Written by `python -m bench.stub`; not by hand.
"""A registry of transformer parts and a harness that compares them honestly."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from zoo import sklearn as sklearn
from zoo.config.sizes import Sizes
from zoo.errors import ZooError as ZooError
from zoo.models.text_model import TextModel
from zoo.registry.declarations import hookimpl as hookimpl
from zoo.registry.declarations import part as part
from zoo.report.write import BenchResult
from zoo.sweep.progress import Progress

__version__: str

Names = str | Sequence[str]
Files = str | Path | Sequence[str | Path]
'''


def text() -> str:
    """The whole file, as ruff formats it."""
    parts = [function(called) for called in (zoo.bench, zoo.build, zoo.load, zoo.train)]
    return subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(FILE), "-"],
        input="\n".join([HEAD, *parts]),
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def function(called: Callable[..., Any]) -> str:
    """A function without its body: every parameter on a line, and the docstring."""
    signature = inspect.signature(called)
    lines, star = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            continue  # a checker would take any misspelt option for one of a plug-in's task
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            lines.append("    *,")
            star = True
        has_default = parameter.default is not parameter.empty
        default = f" = {_literal(parameter.default)}" if has_default else ""
        lines.append(f"    {parameter.name}: {_quoted(parameter.annotation)}{default},")
    about = textwrap.indent(inspect.getdoc(called) or "", "    ").strip()
    return "\n".join(
        [
            f"def {called.__name__}(",
            *lines,
            f") -> {signature.return_annotation}:",
            f'    """{about}',
            '    """',
            "",
        ]
    )


def _literal(default: Any) -> str:
    return f'"{default}"' if isinstance(default, str) else repr(default)


def _quoted(annotation: str) -> str:
    """Strings within an annotation as the formatter writes them."""
    return annotation.replace("'", '"')


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
