"""A page for every component, written from its registration and its docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from bench.docs.catalog import catalog, install_command
from bench.docs.pictures import Picture, pictures
from bench.docs.place import ROOT
from bench.publish.markdown import code, grid, link
from zoo.conformance.certificate import LENGTHS, certificate
from zoo.conformance.check import checks_of
from zoo.conformance.parts import DIM, HEADS, HIDDEN
from zoo.registry import AXES, BUILT_IN, CAPABILITIES, KINDS, Component
from zoo.report.tables.text import escaped, line

UP = "../../"  # from a component's page to the root of the site
ABOUT = {
    "attention": "What mixes tokens: each reads others of its text.",
    "pe": "Positional encodings: how a model knows the order of the tokens.",
    "norm": "Normalisation of each token's vector.",
    "ffn": "The network that each token passes through by itself.",
    "block": "How a layer arranges its sub-layers, norms and residuals.",
    "pool": "How the vectors of a text's tokens become one.",
    "data": "Built-in data sets. Your own are files: `--data FILE`.",
    "baseline": "What a table is compared with: no cell, but a row like any other.",
    "task": "What is learned, and how it is scored.",
    "metric": "What a score is.",
    "executor": "Where jobs run: `--on NAME`.",
    "tracker": "What else is told of a run: `--track NAME`.",
}
OPTIONS = {"executor": "--on", "tracker": "--track"}  # of the others it is the kind's name


def component_pages() -> Iterator[tuple[str, str, list[Picture]]]:
    """Path under the site's root, text and pictures of every page; a kind's own page is first."""
    registry = catalog()
    for kind in KINDS:
        components = registry.components(kind)
        yield f"components/{kind}/index.md", _kind_page(kind, components), []
        for component in components:
            drawn = list(pictures(component))
            yield f"components/{kind}/{component.name}.md", _page(component, drawn), drawn


def _kind_page(kind: str, components: list[Component]) -> str:
    rows = [
        {
            "name": link(f"`{c.name}`", f"{c.name}.md"),
            "what it is": line(c.summary),
            "from": "" if c.owner.distribution == BUILT_IN else c.owner.distribution,
        }
        for c in components
    ]
    meanings = [
        {"capability": f"`{name}`", "a component that declares it": line(text)}
        for name, text in CAPABILITIES[kind].items()
    ]
    parts = [f"# {kind}", ABOUT[kind], grid(rows)]
    if meanings:
        parts += ["## Capabilities", grid(meanings)]
    return "\n\n".join(parts) + "\n"


def _page(component: Component, drawn: list[Picture]) -> str:
    equation, rest = documentation(component)
    install = install_command(component)
    parts = [
        f"# {component.name}",
        f"{line(component.summary[:1].upper() + component.summary[1:])}. "
        f"[{component.kind}](index.md) of {link(*_owner(component))}.",
        f"```text\n{equation}\n```" if component.kind in AXES else _prose(equation),
        *map(_prose, rest),
        f"**Source:** {_linked(component.source)}" if component.source else "",
        f"    {install}" if install else "",
        f"    {_command(component)}",
        f"**Code:** {_code(component)}",
        *(picture.markdown for picture in drawn),
    ]
    sections = {
        "Parameters": _parameters(component),
        "Capabilities": _capabilities(component),
        "Certificate": _certificate(component),
    }
    for title, text in sections.items():
        if text:
            parts += [f"## {title}", text]
    return "\n\n".join(part for part in parts if part) + "\n"


def _owner(component: Component) -> tuple[str, str]:
    name = component.owner.distribution
    return name, f"{UP}index.md" if name == BUILT_IN else f"{UP}plug-ins/{name}.md"


def documentation(component: Component) -> tuple[str, list[str]]:
    """The first paragraph of the factory's docstring, which has the equation, and the others.

    A generated data set says in its module what it is.
    """
    factory: Any = component.resolve()
    text = inspect.getdoc(factory) or ""
    module = inspect.getdoc(inspect.getmodule(factory)) or ""
    if component.kind == "data":
        text = f"{module}\n\n{text}"
    first, *rest = re.split(r"\n\s*\n", text.strip())
    return first, rest


def _prose(paragraph: str) -> str:
    """A paragraph of a docstring as Markdown: what is indented or in backticks is code."""
    if paragraph.startswith("    "):
        return paragraph
    parts = paragraph.split("``")
    return "".join(f"`{p}`" if number % 2 else escaped(p) for number, p in enumerate(parts))


def _linked(source: str) -> str:
    """A source with its address as a link."""
    return re.sub(r"https?://[^\s;,]+", lambda m: f"<{m[0]}>", source)


def _command(component: Component) -> str:
    kind, name = component.kind, component.name
    return f"zoo bench {_option(kind)} {name}"


def _option(kind: str) -> str:
    return OPTIONS.get(kind, f"--{kind}")


def _parameters(component: Component) -> str:
    described = {**component.parameters, **component.harness_parameters}
    if not described:
        return ""
    rows = [
        {"parameter": f"`{name}`", "default": code(repr(default))}
        for name, default in described.items()
    ]
    first = next(iter(described.items()))
    example = f"`{component.name}({first[0]}={first[1]!r})`"
    return f"{grid(rows)}\n\nWritten as {example}; what each means is said above."


def _capabilities(component: Component) -> str:
    meanings = CAPABILITIES[component.kind]
    rows = [
        {"declared": f"`{name}`", "it": line(meanings[name])}
        for name in meanings
        if name in component.capabilities
    ]
    return grid(rows) if rows else ""


def _certificate(component: Component) -> str:
    """What its checks are, and what `zoo check --json` counts of it."""
    known = certificate(catalog().example(component), [])
    rows = {"hash of the source": f"`{known['source_hash'][:16]}`"}
    if "parameters" in known:
        rows["parameters"] = f"{known['parameters']:,}"
        rows |= {
            f"FLOPs per token in a text of {length}": f"{flops:,.0f}"
            for length, flops in known["flops_per_token"].items()
        }
    if seen := known.get("receptive_field"):
        rows[f"tokens of {LENGTHS[0]} that the middle one reads"] = (
            f"{seen[0]} before, {seen[1]} after"
        )
    if "state_per_token" in known:
        rows["numbers in the cache per token"] = f"{known['state_per_token']:g}"
    tried = ", ".join(f"`{name}`" for name in checks_of(component.kind))
    name = f"{component.kind}/{component.name}"
    sizes = f" Numbers are for width {DIM}, {HEADS} heads and a hidden width of {HIDDEN}."
    text = f"`zoo check {name}` tries {tried}.{sizes if 'parameters' in known else ''}"
    return f"{text}\n\n{grid([{'of this part': key, '': value} for key, value in rows.items()])}"


def _code(component: Component) -> str:
    """The name of the file in this repository."""
    module = f"{component.module.replace('.', '/')}.py"
    files = [ROOT / module, *ROOT.glob(f"plugins/*/{module}")]
    return next((f"`{f.relative_to(ROOT).as_posix()}`" for f in files if f.exists()), "")


def components_overview() -> str:
    """The kinds, each with how many components there are."""
    registry = catalog()
    rows = [
        {
            "kind": link(kind, f"components/{kind}/index.md"),
            "what it is": ABOUT[kind],
            "components": str(len(registry.components(kind))),
            "option": f"`{_option(kind)}`",
        }
        for kind in KINDS
    ]
    return grid(rows)
