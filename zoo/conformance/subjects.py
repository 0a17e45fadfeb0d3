"""Which components a run of checks is about. No torch here."""

from __future__ import annotations

from collections.abc import Iterable

from zoo.errors import ZooError, nearest
from zoo.registry import KINDS, Choice, Component
from zoo.registry.loading import Zoo


def subjects(
    zoo: Zoo, names: Iterable[str], *, files: bool = False, distributions: Iterable[str] = ()
) -> list[Choice]:
    """The choices asked for, each once, in the order of asking.

    names: ``kind/name``, ``kind/name(param=value)``, ``kind/all`` or ``all``. files: also all
    that the single-file plug-ins register. distributions: all that these register.
    Raises ZooError where a name is unknown or nothing is left to check.
    """
    chosen: list[Choice] = []
    for name in names:
        chosen += _named(zoo, name)
    if files and zoo.files:
        # The files' rows stand last, one each.
        owners = {(row.distribution, row.version) for row in zoo.plugins[-len(zoo.files) :]}
        chosen += _of(zoo, lambda c: (c.owner.distribution, c.owner.version) in owners)
    for distribution in distributions:
        found = _of(zoo, lambda c, d=distribution: c.owner.distribution == d)
        if not found:
            known = sorted({row.distribution for row in zoo.plugins})
            raise ZooError(
                f"distribution '{distribution}' registers nothing{nearest(distribution, known)}"
            )
        chosen += found
    if not chosen:
        raise ZooError("nothing to check; name components as kind/name, or say all")
    return list({(c.component.kind, str(c)): c for c in chosen}.values())


def _named(zoo: Zoo, name: str) -> list[Choice]:
    if name.strip() == "all":
        return _of(zoo, lambda c: True)
    kind, slash, text = name.partition("/")
    if not slash or not text.strip():
        raise ZooError(f"'{name}' is no component; write it as kind/name, such as attention/fused")
    if kind not in KINDS:
        raise ZooError(f"no kind '{kind}'{nearest(kind, KINDS)}")
    return zoo.registry.choices(kind, text)


def _of(zoo: Zoo, wanted: object) -> list[Choice]:
    assert callable(wanted)
    registry = zoo.registry
    return [Choice(c, registry.label(c)) for c in _all(zoo) if wanted(c)]


def _all(zoo: Zoo) -> list[Component]:
    return [c for kind in KINDS for c in zoo.registry.components(kind)]
