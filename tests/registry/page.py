"""The parts of the authors' page that are written from the program.

``python tests/registry/page.py`` writes them anew.
"""

import inspect
import re
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from zoo.conformance.check import checks_of
from zoo.registry import CAPABILITIES, KINDS, Component, Owner, Register, declarations
from zoo.registry.loading import read_plugin

PAGE = Path(__file__).parents[2] / "plugins" / "README.md"


def hooks() -> dict[str, Callable[..., None]]:
    """Every hook by name."""
    return {name: hook for name, hook in vars(declarations).items() if name.startswith("zoo_")}


def signature(function: Callable[..., None], *, name: str) -> str:
    """A signature as it would be written, a line for each parameter where there are many."""
    signature = inspect.signature(function)
    parameters = [p for p in signature.parameters.values() if p.name != "self"]
    words = [_written(p) for p in parameters]
    first_keyword = next((i for i, p in enumerate(parameters) if p.kind == p.KEYWORD_ONLY), None)
    if first_keyword is not None:
        words.insert(first_keyword, "*")
    returns = str(signature.return_annotation)
    if len(words) <= 3:
        return f"{name}({', '.join(words)}) -> {returns}"
    return "\n".join([f"{name}(", *(f"    {word}," for word in words), f") -> {returns}"])


def _written(parameter: inspect.Parameter) -> str:
    default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
    return f"{parameter.name}: {parameter.annotation}{default}"


def generated() -> dict[str, str]:
    """The text of every generated part, by name."""
    return {
        "hooks": _hooks(),
        "capabilities": _capabilities(),
        "checks": _checks(),
        "plug-ins": _plugins(),
    }


def _hooks() -> str:
    lines = ["```python"]
    for name, hook in hooks().items():
        about = inspect.cleandoc(hook.__doc__ or "").splitlines()
        lines += [*(f"# {line}".rstrip() for line in about), signature(hook, name=name), ""]
    return "\n".join([*lines, signature(Register.__call__, name="register"), "```"])


def _capabilities() -> str:
    lines = ["| kind | capability | the component |", "|---|---|---|"]
    for kind, capabilities in CAPABILITIES.items():
        lines += [f"| {kind} | `{name}` | {text} |" for name, text in capabilities.items()]
    return "\n".join(lines)


def _checks() -> str:
    kinds: dict[tuple[str, str], list[str]] = {}
    for kind in KINDS:
        for name, check in checks_of(kind).items():
            kinds.setdefault((name, check.__doc__ or ""), []).append(kind)
    lines = ["| check | of | what must hold |", "|---|---|---|"]
    for (name, claim), of in kinds.items():
        who = "all" if of == list(KINDS) else ", ".join(of)
        lines.append(f"| `{name}` | {who} | {claim.replace('|', chr(92) + '|')} |")
    return "\n".join(lines)


def _plugins() -> str:
    """The distributions beside the page, each with the components that it registers."""
    lines = ["| distribution | registers | what it is |", "|---|---|---|"]
    for file in sorted(PAGE.parent.glob("*/pyproject.toml")):
        project = tomllib.loads(file.read_text("utf-8"))["project"]
        components = _registered(
            file.parent, project.get("entry-points", {}).get("zoo", {}).values()
        )
        kinds = {kind: [f"`{c.name}`" for c in components if c.kind == kind] for kind in KINDS}
        named = "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds.items() if names)
        link = f"[{project['name']}]({file.parent.name})"
        lines.append(f"| {link} | {named} | {project['description']} |")
    return "\n".join(lines)


def _registered(directory: Path, modules: Iterable[str]) -> list[Component]:
    """What the modules of a distribution that need not be installed register."""
    before, components = set(sys.modules), list[Component]()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(directory)
        for module in modules:
            components += read_plugin(module, Owner(directory.name, "0")).components
    for module in set(sys.modules) - before:  # another test may install another version
        del sys.modules[module]
    return components


def rewritten(page: str) -> str:
    """The page with every generated part written anew."""
    for name, text in generated().items():
        part = re.compile(rf"(<!-- generated: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        page, count = part.subn(lambda m, text=text: f"{m[1]}{text}\n{m[2]}", page)
        assert count == 1, f"the page has {count} parts for {name}"
    return page


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text("utf-8")), "utf-8")
