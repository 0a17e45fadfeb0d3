"""From what a user writes after ``--data`` to a data set."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import TypeVar

from zoo.data.sources.corpus import Corpus
from zoo.data.sources.data_file import data_stem
from zoo.data.sources.files import LabelledTexts
from zoo.data.sources.in_memory import given_as
from zoo.data.sources.registered import build_registered, find_registered
from zoo.data.sources.row_reader import C, RowReader
from zoo.errors import ZooError, nearest
from zoo.registry import Registry

DEFAULT, FALLBACK = "bbc-news", "newswire"
HUB = "hub:"
LABELLED_TEXTS = LabelledTexts()
T = TypeVar("T")


def load_corpus(
    registry: Registry, spec: str | None, reader: LabelledTexts = LABELLED_TEXTS
) -> tuple[Corpus, list[str]]:
    """The corpus a user asked for, and notices of one line each to print.

    spec: as of ``load_data``; or None for bbc-news, or newswire where the Hub cannot be reached
    and its cache has no copy. Raises as ``load_data`` does.
    """
    if spec is None:
        reader.refuse_columns(DEFAULT)
        return _default(registry)
    return load_data(registry, spec, reader, Corpus)


def load_data(
    registry: Registry, spec: str, reader: RowReader[T, C], kind: type[C]
) -> tuple[C, list[str]]:
    """The data a user asked for, of the class ``kind``, and notices of one line each to print.

    spec: a registered name, with or without parameters; a file or directory; ``hub:owner/name`` or
    ``hub:owner/name@revision``. reader: of a file or Hub data.
    Raises ZooError where the data cannot be loaded or do not fit.
    """
    spec = spec.strip()
    if spec.startswith(HUB):
        from zoo.data.sources import hub

        return hub.load(spec.removeprefix(HUB), reader)
    choice = find_registered(registry, spec)
    if choice is not None:
        reader.refuse_columns(spec)
        return build_registered(choice, kind), []
    path = Path(spec).expanduser()
    if not spec or not path.exists():
        raise no_such_data(registry, spec)
    if not (given := given_as(path)):
        return reader.read(path, name=path.resolve().name)
    reader.refuse_formats(f"{given} is none")
    several = len(list(path.glob("*.jsonl"))) > 1
    return reader.read(
        path,
        name=path.name,
        source=lambda file: f"{data_stem(file)} of {given}" if several else given,
    )


def _default(registry: Registry) -> tuple[Corpus, list[str]]:
    from zoo.data.sources.hub import HubError

    try:
        return build_registered(registry.choose("data", DEFAULT), Corpus), []
    except HubError as error:
        notice = (
            f"{DEFAULT} cannot be loaded ({error.reason}): running on the built-in data set "
            f"{FALLBACK} instead; accuracies do not compare with those on {DEFAULT}"
        )
        return build_registered(registry.choose("data", FALLBACK), Corpus), [notice]


def no_such_data(registry: Registry, spec: str) -> ZooError:
    """The error for a spec that is no data, with the nearest registered name or file."""
    return ZooError(_unknown(registry, spec, Path(spec).expanduser()))


def _unknown(registry: Registry, spec: str, path: Path) -> str:
    if re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", spec):
        return f"no file or directory '{spec}'; for a data set of the Hub say '{HUB}{spec}'"
    if "/" in spec:
        neighbours = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        close = difflib.get_close_matches(path.name, neighbours, n=1, cutoff=0.5)
        hint = f"; did you mean '{close[0]}'?" if close else ""
        return f"no file or directory '{spec}'{hint}"
    return (
        f"no data '{spec}', and no such file or directory{nearest(spec, registry.labels('data'))}; "
        f"or a path, or {HUB}owner/name"
    )


def portable_spec(registry: Registry, name: str) -> str:
    """What loads data of this name on any machine; empty where they are a file of this one."""
    try:
        return name if name.startswith(HUB) or find_registered(registry, name) else ""
    except ZooError:  # a file whose name is almost that of a component
        return ""
