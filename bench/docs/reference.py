"""Pages of the Python interface, from docstrings; an undocumented public name is an error."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator
from pathlib import Path

import griffe

from bench.docs.catalog import plugins
from bench.docs.place import ROOT, SITE
from zoo.errors import ZooError

# Title to what the page begins with, and the modules whose public names are on it.
PAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "zoo": (
        "What `import zoo` offers, and the saved models that `zoo.load` returns.",
        (
            "zoo.api",
            "zoo.inference.load",
            "zoo.models.text_model",
            "zoo.models.text_generator",
            "zoo.report.bench_result",
            "zoo.sklearn",
            "zoo.inference.attention_map",
            "zoo.errors",
        ),
    ),
    "transformers": (
        "What `import zoo_hf` offers: models of the zoo in Transformers, and its attentions in "
        "models of Transformers; [Transformers](../transformers.md) shows their use.",
        (
            "zoo_hf.zoo_config",
            "zoo_hf.auto_models",
            "zoo_hf.masked_model",
            "zoo_hf.offered_attentions",
            "zoo_hf.model_card",
        ),
    ),
    "components": (
        "The contracts of components, and what is there to be imported by them; "
        "[Your part](../your-part.md) explains them.",
        (
            "zoo.registry.hookspecs",
            "zoo.components.tokens",
            "zoo.components.layer_context",
            "zoo.components.attention.base",
            "zoo.components.attention.projections",
            "zoo.components.pe.base",
            "zoo.components.ffn.base",
            "zoo.components.block.base",
            "zoo.components.pool.base",
            "zoo.components.dropout",
        ),
    ),
    "data": (
        "What a data set holds once it is loaded.",
        ("zoo.data.sources.corpus",),
    ),
    "tasks": (
        "The contracts of tasks, metrics and executors.",
        (
            "zoo.tasks.base",
            "zoo.tasks.encoder_task",
            "zoo.config.metric_description",
            "zoo.execution.base",
        ),
    ),
    "testing": (
        "The conformance checks in a plug-in's own tests.",
        ("zoo.testing", "zoo.conformance.check"),
    ),
}


@functools.cache
def _package(name: str) -> griffe.Module:
    loaded = griffe.load(name, search_paths=[ROOT, ROOT / "plugins/zoo-hf"], resolve_aliases=False)
    assert isinstance(loaded, griffe.Module)
    return loaded


def _module(name: str) -> griffe.Module:
    top, _, rest = name.partition(".")
    found = _package(top)[rest] if rest else _package(top)
    assert isinstance(found, griffe.Module)
    return found


def public_names(module: str) -> list[str]:
    """The public names that a module defines, with its own name in front."""
    found = _module(module)
    exported = found.exports
    return [
        f"{module}.{name}"
        for name, member in found.members.items()
        if not name.startswith("_")
        and not member.is_alias
        and (member.is_class or member.is_function)
        and (exported is None or name in exported)
    ]


def undocumented(module: str) -> Iterator[str]:
    """The public names of a module, and of the members of its classes, without a docstring.

    A method that overrides another has its docstring.
    """
    if not _module(module).has_docstring:
        yield module
    for path in public_names(module):
        name = path.removeprefix(f"{module}.")
        member = _module(module)[name]
        if not member.has_docstring:
            yield path
        if isinstance(member, griffe.Class):
            bases = getattr(importlib.import_module(module), name).__mro__[1:]
            for own, method in member.members.items():
                public = method.is_function and not own.startswith("_")
                inherited = any(own in vars(base) for base in bases)
                if public and not inherited and not method.has_docstring:
                    yield f"{path}.{own}"


def reference_pages() -> Iterator[tuple[str, str]]:
    """Path and text of each page; ZooError that names every public name without a docstring."""
    plugins()  # from here on they can be imported, installed or not
    modules = [module for _, names in PAGES.values() for module in names]
    if missing := [name for module in modules for name in undocumented(module)]:
        raise ZooError(f"public names without a docstring: {', '.join(missing)}")
    for title, (about, names) in PAGES.items():
        parts = [f"# {title}", about]
        for module in names:
            parts += [
                f"## {module}",
                str(getattr(_module(module).docstring, "value", "")).replace("``", "`"),
            ]
            parts += [f"::: {name}" for name in public_names(module)]
        yield f"api/{title}.md", "\n\n".join(parts) + "\n"


def check_reference(site: Path = SITE) -> None:
    """ZooError where a public name did not come to stand on its page of the built site."""
    for title, (_, names) in PAGES.items():
        text = (site / "api" / title / "index.html").read_text("utf-8")
        wanted = [name for module in names for name in public_names(module)]
        if missing := [name for name in wanted if f'id="{name}"' not in text]:
            raise ZooError(f"api/{title} lacks {', '.join(missing)}")
