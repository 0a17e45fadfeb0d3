"""Parses ``name(param=value)``, lists and patterns of it; nothing in them is executed."""

from __future__ import annotations

import ast
import contextlib
import math
from collections.abc import Iterator, Mapping
from typing import Any

from zoo.errors import ZooError, nearest


def split_list(text: str, option: str = "") -> list[str]:
    """Split at the commas that are outside brackets and quotes, and strip each item.

    option: how the error begins, such as ``"--pe "``. A list of nothing but commas is empty.
    Raises ZooError where some items are empty and others are not.
    """
    items = [item.strip() for item in _split(text, ",")]
    if not any(items):
        return []
    if "" in items:
        empty = [number for number, item in enumerate(items) if not item]
        where = "between two commas"
        if 0 in empty:
            where = "before the first comma"
        elif empty == [len(items) - 1]:
            where = "after the last comma"
        raise ZooError(f"{option}'{text}': an empty name {where}")
    return items


def split_pattern(text: str) -> list[str]:
    """Split at the slashes that are outside brackets and quotes, and strip each piece."""
    return [piece.strip() for piece in _split(text, "/")]


def _split(text: str, separator: str) -> Iterator[str]:
    piece, depth, quote, escaped = "", 0, "", False
    for letter in text:
        if quote:
            if letter == quote and not escaped:
                quote = ""
            escaped = letter == "\\" and not escaped
        elif letter in "'\"":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        if letter == separator and depth == 0 and not quote:
            yield piece
            piece = ""
        else:
            piece += letter
    yield piece


def split_call(kind: str, text: str) -> tuple[str, ast.Call | None]:
    """``window(size=64)`` as its name and its parsed call; None where there are no brackets."""
    name, bracket, rest = text.strip().partition("(")
    if not bracket:
        return name, None
    try:
        call = ast.parse(f"f({rest}", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        call = None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise ZooError(f"cannot read {kind} '{text}'; write it as name(param=value)")
    return name.strip(), call


def bind(what: str, declared: Mapping[str, Any], call: ast.Call | None) -> dict[str, Any]:
    """The call's arguments by parameter name, in declared order, each of its default's type.

    what: the component's name in errors. declared: its parameters with their defaults.
    Raises ZooError for an unknown or repeated parameter, or a value that is no literal.
    """
    if call is None:
        return {}
    if len(call.args) > len(declared):
        raise ZooError(f"{what} takes {len(declared)} parameters, not {len(call.args)}")
    pairs = [*zip(declared, call.args, strict=False), *((k.arg, k.value) for k in call.keywords)]
    given: dict[str, Any] = {}
    for name, node in pairs:
        if name is None or name not in declared:
            raise ZooError(f"{what} has no parameter '{name}'{nearest(str(name), declared)}")
        if name in given:
            raise ZooError(f"{what} is given '{name}' twice")
        try:
            value = _value(node, declared[name])
        except (ValueError, TypeError):  # TypeError: a list in a set, or as a key
            quotes = " in quotes" if isinstance(declared[name], str) else ""
            raise ZooError(
                f"{what}: '{name}' must be a plain value such as {declared[name]!r}{quotes}, "
                f"not {ast.unparse(node)}"
            ) from None
        given[name] = _typed(what, name, value, declared[name])
    return {name: given[name] for name in declared if name in given}


def _value(node: ast.expr, default: Any) -> Any:
    """The value of a literal; where the default is text, a name without quotes is text as well."""
    if isinstance(default, str) and isinstance(node, ast.Name):
        return node.id
    return ast.literal_eval(node)


def _typed(what: str, name: str, value: Any, default: Any) -> Any:
    """The value, if its type is the default's; an int is converted where a float is due."""
    if isinstance(default, float) and type(value) is int:
        with contextlib.suppress(OverflowError):
            value = float(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ZooError(f"{what}: '{name}' must be a finite number, not {value!r}")
    if default is None or type(value) is type(default):
        return value
    raise ZooError(
        f"{what}: '{name}' must be of type {type(default).__name__} (default {default!r}), "
        f"not {value!r}"
    )
