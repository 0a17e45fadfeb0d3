"""Components that are wrong in one way each, with the check that must catch them."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from zoo import hookimpl
from zoo.conformance.check import CheckResult, run_checks
from zoo.registry import Choice, Register


def run_check(choice: Choice, name: str, files: Sequence[str | Path] = ()) -> CheckResult:
    """One check of one choice."""
    return next(run_checks([choice], only=[name], files=list(map(str, files))))


Factory = TypeVar("Factory", bound=Callable[..., Any])


@dataclass(frozen=True)
class Catch:
    """check must fail, and its message must match says."""

    check: str
    says: str


class Specimens:
    """The broken components of one kind; their names come from their classes."""

    def __init__(self, kind: str, *capabilities: str) -> None:
        self.kind, self.capabilities = kind, capabilities
        self.entries: list[tuple[str, Callable[..., Any], dict[str, Any]]] = []

    def caught_by(
        self,
        check: str,
        says: str,
        *,
        also: tuple[str, ...] = (),
        without: tuple[str, ...] = (),
        only: tuple[str, ...] | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> Callable[[Factory], Factory]:
        """Register the factory with the kind's usual capabilities, more or fewer; or only these."""
        declared = {*self.capabilities, *also} - {*without} if only is None else {*only}

        def add(factory: Factory) -> Factory:
            name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", "-", factory.__name__).lower()
            factory.catch = Catch(check, says)  # type: ignore[attr-defined]
            own = _keywords(factory) if parameters is None else parameters
            how = {"capabilities": declared, "parameters": own}
            self.entries.append((name, factory, how))
            return factory

        return add

    def register(self, register: Register) -> None:
        for name, factory, how in self.entries:
            register(self.kind, name, factory, summary="broken on purpose", **how)


def registering(*groups: Specimens) -> Callable[[Register], None]:
    """The hook of a plug-in file that registers all of these."""

    @hookimpl
    def zoo_register(register: Register) -> None:
        for specimens in groups:
            specimens.register(register)

    return zoo_register


def _keywords(factory: Callable[..., Any]) -> dict[str, Any]:
    """The parameters that a class inherits besides those of the contract."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(factory).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
        and parameter.default is not parameter.empty
        and name not in ("dropout", "cross", "projection")
    }


WRITTEN = tempfile.TemporaryDirectory(prefix="zoo-mutations-")
TABLE = Path(__file__).with_name("mutations.txt")
_KIND = re.compile(r"# (\w+)((?: [\w-]+)*)")
_ENTRY = re.compile(r"(\w+)\(([\w.]+)((?: [+=-][\w,-]*)*) ?(\{.*\})?\) ([\w-]+): (.+)")
_METHOD = re.compile(r"    (\w+)\(([^()]*)\):(?: (.+))?")


@functools.cache
def mutations() -> dict[str, Path]:
    """For each kind a plug-in file with the parts of the table, written for this process."""
    sources: dict[str, list[str]] = {}
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    for line in lines[lines.index("# ---") + 1 :]:
        if kind := _KIND.fullmatch(line):
            name, usual = kind[1], kind[2].split()
            head = ["from bases import *", "from specimens import Specimens, registering"]
            head += [f"mutations = Specimens({name!r})", "zoo_register = registering(mutations)"]
            source = sources.setdefault(name, head)
        elif entry := _ENTRY.fullmatch(line):
            source += _class_lines(entry, usual)
        elif method := _METHOD.fullmatch(line):
            arguments = ", ".join(filter(None, ("self", method[2])))
            returned = f" return {method[3]}" if method[3] else ""
            source.append(f"    def {method[1]}({arguments}):{returned}")
        elif line.startswith("    "):
            source.append(line)
        elif line:
            raise ValueError(f"{TABLE.name} has a line that cannot be read: {line}")
    files = {kind: Path(WRITTEN.name) / f"{kind}.py" for kind in sources}
    for kind, source in sources.items():
        files[kind].write_text("\n".join(source) + "\n", encoding="utf-8")
    return files


def _class_lines(entry: re.Match[str], usual: Sequence[str]) -> list[str]:
    name, base, changes, parameters, check, says = entry.groups()
    declared = {*usual}
    for change in changes.split():
        named = change[1:].split(",")
        if change[0] == "=":
            declared = {*filter(None, named)}
        else:
            declared = declared | {*named} if change[0] == "+" else declared - {*named}
    more = f", parameters={ast.literal_eval(parameters)!r}" if parameters else ""
    declares = f"only={tuple(sorted(declared))!r}{more}"
    return [
        f"@mutations.caught_by({check!r}, {says!r}, {declares})",
        f"class {name}({base}):",
        '    """Wrong on purpose."""',
    ]
