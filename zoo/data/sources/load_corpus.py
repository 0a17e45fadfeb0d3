"""From what a user writes after ``--data`` to a corpus."""

from __future__ import annotations

import dataclasses
import difflib
import re
from pathlib import Path

from zoo.data.sources.corpus import Corpus
from zoo.errors import ZooError, nearest, one_line
from zoo.registry import Choice, Registry

DEFAULT, FALLBACK = "bbc-news", "newswire"
HUB = "hub:"
COLUMNS = ("text", "label")


def load_corpus(
    registry: Registry,
    spec: str | None,
    *,
    text_column: str = COLUMNS[0],
    label_column: str = COLUMNS[1],
    seed: int = 0,
) -> tuple[Corpus, list[str]]:
    """The corpus a user asked for, and notices of one line each to print.

    spec: a registered name, with or without parameters; a file or directory; ``hub:owner/name`` or
    ``hub:owner/name@revision``; or None for bbc-news, or newswire where the Hub cannot be reached
    and its cache has no copy.
    text_column, label_column: of a file or a Hub data set. seed: divides data without a test split.
    Raises ZooError where the data cannot be loaded or do not fit.
    """
    if spec is None:
        _refuse_columns(DEFAULT, text_column, label_column)
        return _default(registry)
    spec = spec.strip()
    if spec.startswith(HUB):
        from zoo.data.sources import hub

        return hub.load(
            spec.removeprefix(HUB), text_column=text_column, label_column=label_column, seed=seed
        )
    if _is_registered(registry, spec):
        _refuse_columns(spec, text_column, label_column)
        return _registered(registry.choose("data", spec)), []
    path = Path(spec).expanduser()
    if not spec or not path.exists():
        raise ZooError(_unknown(registry, spec, path))
    from zoo.data.sources.files import read_corpus

    return read_corpus(
        path,
        name=path.resolve().name,
        text_column=text_column,
        label_column=label_column,
        seed=seed,
    )


def _default(registry: Registry) -> tuple[Corpus, list[str]]:
    from zoo.data.sources.hub import HubError

    try:
        return _registered(registry.choose("data", DEFAULT)), []
    except HubError as error:
        notice = (
            f"{DEFAULT} cannot be loaded ({error.reason}): running on the built-in data set "
            f"{FALLBACK} instead; accuracies do not compare with those on {DEFAULT}"
        )
        return _registered(registry.choose("data", FALLBACK)), [notice]


def _registered(choice: Choice) -> Corpus:
    """The corpus of a data component; given parameters are part of its name."""
    what = f"data '{choice}' of {choice.component.owner}"
    try:
        corpus = choice.build()
    except ZooError:
        raise
    except Exception as error:
        raise ZooError(f"{what} cannot be loaded: {one_line(error)}") from error
    if not isinstance(corpus, Corpus):
        raise ZooError(f"{what} gives no Corpus but a {type(corpus).__name__}")
    return dataclasses.replace(corpus, name=str(choice)) if choice.given else corpus


def _refuse_columns(spec: str, text_column: str, label_column: str) -> None:
    if (text_column, label_column) != COLUMNS:
        raise ZooError(
            f"--text-column and --label-column are for files and hub: data; '{spec}' has its own"
        )


def _unknown(registry: Registry, spec: str, path: Path) -> str:
    """Why a spec is no data, with the nearest registered name or file."""
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


def _is_registered(registry: Registry, spec: str) -> bool:
    bare = spec.partition("(")[0].strip()  # a path has a slash or a dot, and no component has
    return any(bare in (c.name, c.full_name) for c in registry.components("data"))


def portable_spec(registry: Registry, name: str) -> str:
    """What loads data of this name on any machine; empty where they are a file of this one."""
    return name if name.startswith(HUB) or _is_registered(registry, name) else ""
