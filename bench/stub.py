"""Write down what the pydantic models say, for those who do not run them.

``zoo/__init__.pyi``: what editors and type checkers see of ``import zoo``. ``zoo.bench`` and
``zoo.train`` take every option by name. They make their signatures from the models of a request
when they are imported, which a static tool cannot do. ``zoo/sweep/record.schema.json``: the JSON
Schema of a line of ``records.jsonl`` and ``scale.jsonl``.

    python -m bench.stub
"""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, create_model

import zoo
from zoo.config.request import PARTS
from zoo.sweep.records import SCHEMA_VERSION, Record

FILE = Path(zoo.__file__).parent / "__init__.pyi"
SCHEMA = FILE.parent / "sweep" / "record.schema.json"
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
from zoo.registry.declarations import part as part
from zoo.registry.hookspecs import hookimpl as hookimpl
from zoo.report.write import BenchResult
from zoo.sweep.progress import Progress

__version__: str

Names = str | Sequence[str]
Files = str | Path | Sequence[str | Path]
'''


def text() -> str:
    """The whole file, as ruff formats it."""
    parts = [function(one) for one in (zoo.bench, zoo.build, zoo.load, zoo.train)]
    return subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(FILE), "-"],
        input="\n".join([HEAD, *parts]),
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def function(one: Callable[..., Any]) -> str:
    """A function without its body: every parameter on a line, and the docstring."""
    signature = inspect.signature(one)
    lines, star = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            lines.append("    *,")
            star = True
        stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
        given = parameter.default is not parameter.empty
        default = f" = {_literal(parameter.default)}" if given else ""
        lines.append(f"    {stars}{parameter.name}: {_quoted(parameter.annotation)}{default},")
    about = textwrap.indent(inspect.getdoc(one) or "", "    ").strip()
    return "\n".join(
        [
            f"def {one.__name__}(",
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


class Data(BaseModel):
    """The data of a run; further entries are of their kind."""

    model_config = ConfigDict(extra="allow")

    name: str
    fingerprint: str


class Config(BaseModel):
    """What a record was made with; a scale record has other entries than the rest."""

    model_config = ConfigDict(extra="allow")

    task: str
    task_options: dict[str, Any] = {}
    data: Data | None = None


def schema() -> str:
    """The JSON Schema of a record as this version writes it."""
    parts: dict[str, Any] = {name: (part | None, None) for name, part in PARTS.items()}
    config = create_model("Config", __base__=Config, __doc__=Config.__doc__, **parts)
    whole: Any = {"config": (config, ...)}
    record = create_model("Record", __base__=Record, __doc__=inspect.getdoc(Record), **whole)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:encoder-zoo:record:{SCHEMA_VERSION}",
    }
    return json.dumps(head | record.model_json_schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
    SCHEMA.write_text(schema(), encoding="utf-8")
