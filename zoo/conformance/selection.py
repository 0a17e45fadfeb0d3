"""Which components to check. No torch here."""

from __future__ import annotations

from collections.abc import Iterable

from zoo.errors import ZooError, nearest
from zoo.registry import KINDS, Choice
from zoo.registry.loading import Zoo


def select_choices(
    zoo: Zoo, names: Iterable[str], *, files: bool = False, distributions: Iterable[str] = ()
) -> list[Choice]:
    """The choices asked for, each once, in the order of asking.

    names: ``kind/name``, ``kind/name(param=value)``, ``kind/all`` or ``all``. files: also all
    components of single-file plug-ins. distributions: also all components of these.
    Raises ZooError where a name is unknown or nothing is left to check.
    """
    chosen: list[Choice] = []
    for name in names:
        chosen += _named(zoo, name)
    if files and zoo.files:
        # The last plug-ins are the files, one each.
        chosen += _of(zoo, {row.distribution for row in zoo.plugins[-len(zoo.files) :]})
    for distribution in distributions:
        found = _of(zoo, {distribution})
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
        return _of(zoo)
    kind, slash, text = name.partition("/")
    if not slash or not text.strip():
        raise ZooError(f"'{name}' is no component; write it as kind/name, such as attention/fused")
    if kind not in KINDS:
        raise ZooError(f"no kind '{kind}'{nearest(kind, KINDS)}")
    return zoo.registry.choices(kind, text)


def _of(zoo: Zoo, distributions: set[str] | None = None) -> list[Choice]:
    """All components, or those of some distributions."""
    components = (c for kind in KINDS for c in zoo.registry.components(kind))
    return [
        Choice(c, zoo.registry.label(c))
        for c in components
        if distributions is None or c.owner.distribution in distributions
    ]
