"""The text of a row: one column, or several that are joined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from zoo.data.sources.corpus import check_characters
from zoo.errors import ZooError
from zoo.registry.naming import split_list

JOIN = "\n"


def column_names(option: str) -> list[str]:
    """The columns that ``--text-column`` names: one, or a comma list."""
    return split_list(option, "--text-column ") or [option]


def joined_text(where: str, row: Mapping[str, Any], columns: Iterable[str]) -> str:
    """The texts in these columns, joined by a line end; those that are empty are left out.

    Raises ZooError where one is missing or not text, all are empty, or half a character is in it.
    """
    texts = []
    for column in columns:
        text = row.get(column)
        if not isinstance(text, str):
            found = "missing" if text is None else f"not text but a {type(text).__name__}"
            raise ZooError(f"{where}: '{column}' is {found}")
        check_characters(f"{where}: '{column}'", text)
        if text.strip():
            texts.append(text)
    if not texts:
        listed = " and ".join(f"'{column}'" for column in columns)
        raise ZooError(f"{where}: {listed} {'is' if listed.count(chr(39)) == 2 else 'are'} empty")
    return JOIN.join(texts)
