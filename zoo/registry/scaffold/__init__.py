"""Writes a new plug-in as a copy of a part of the zoo that works: what ``zoo new`` does."""

from __future__ import annotations

import ast
import re
from importlib.resources import files
from pathlib import Path
from string import Template

import zoo
from zoo.errors import ZooError, nearest

# A first run takes seconds: no costs, one layer, and the beginning of each text.
QUICK = "--data newswire --phases train --seeds 1 --set layers=1 --max-length 64"
# Kind to the file of the zoo that a plug-in begins as, and the options of a first run of NAME.
STARTERS = {
    "attention": ("components/attention/naive.py", f"--attention NAME,fused {QUICK}"),
    "pe": ("components/pe/alibi.py", f"--pe NAME,rope {QUICK}"),
    "norm": ("components/norm/rms.py", f"--norm NAME,layer {QUICK}"),
    "ffn": ("components/ffn/swiglu.py", f"--ffn NAME,gelu {QUICK}"),
    "block": ("components/block/arrangements.py", f"--block NAME,pre {QUICK}"),
    "pool": ("components/pool/pools.py", f"--pool NAME,cls {QUICK}"),
    "data": (
        "registry/scaffold/data.py",
        "--data NAME --pe rope,none --phases train --epochs 5 --set layers=1",
    ),
    "baseline": ("components/baseline/majority.py", f"--baseline NAME,tfidf-logreg {QUICK}"),
    "task": ("registry/scaffold/task.py", f"--task NAME --attention fused,naive {QUICK}"),
    "metric": ("registry/scaffold/metric.py", ""),
}
# Fewer names than the registry takes: it also becomes a class, a package and a distribution.
_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")


def plugin_files(kind: str, name: str) -> dict[str, str]:
    """Path inside the plug-in's folder to text, for every file.

    ``my-window`` becomes the distribution ``zoo-my-window``. Raises ZooError for a kind that is not
    written, or an illegal name.
    """
    if kind not in STARTERS:
        raise ZooError(f"zoo new writes no {kind}{nearest(kind, STARTERS)}")
    if name == "all" or not _NAME.fullmatch(name):
        raise ZooError(
            f"illegal name '{name}'; it takes lower-case letters, digits and single "
            "hyphens or underscores, starts with a letter, and is not 'all'; such as my-window"
        )
    distribution, bench = distribution_of(name), first_run(kind, name)
    package = distribution.replace("-", "_")
    source, node = _last_part(_text(STARTERS[kind][0]))
    known = {
        "kind": kind,
        "name": name,
        "package": package,
        "distribution": distribution,
        "summary": (ast.get_docstring(node) or "").partition("\n")[0].removesuffix("."),
        "zoo_version": ".".join(zoo.__version__.split(".")[:2]),
        "first_run": f"    {bench}\n" if bench else "",
    }
    filled = {
        file: Template(_text(f"registry/scaffold/{file}.tmpl")).substitute(known)
        for file in ("pyproject.toml", "README.md")
    }
    test = _text("registry/scaffold/test_conformance.py")
    return {
        **filled,
        f"src/{package}/__init__.py": f'"""{kind}/{name}, for the zoo."""\n',
        f"src/{package}/py.typed": "",
        f"src/{package}/{kind}.py": _renamed(source, node, kind, name),
        "tests/test_conformance.py": test.replace("attention/my-attention", f"{kind}/{name}"),
    }


def distribution_of(name: str) -> str:
    """The distribution's name, and its folder's."""
    return f"zoo-{name.replace('_', '-')}"


def first_run(kind: str, name: str) -> str:
    """The command of a first run; empty for a kind that no run shows alone."""
    options = STARTERS[kind][1].replace("NAME", name)
    return f"zoo bench {options}" if options else ""


def _renamed(source: str, node: ast.ClassDef | ast.FunctionDef, kind: str, name: str) -> str:
    """The text of a part with the names of a plug-in, without the paper that it is from."""
    words = "".join(word.capitalize() for word in re.split("[-_]", name))
    if isinstance(node, ast.ClassDef):  # a function keeps its name
        source = re.sub(rf"\b{node.name}\b", words, source)
    declared = node.decorator_list[0]
    assert isinstance(declared, ast.Call)
    declared.args[1] = ast.Constant(name)
    declared.keywords = [word for word in declared.keywords if word.arg != "source"]
    lines = source.splitlines(keepends=True)
    decorator = f"@{ast.unparse(declared)}\n".replace("'", '"')
    lines[declared.lineno - 1 : declared.end_lineno] = [decorator]
    copied = "".join(lines).replace("from zoo.", "from zoo import part\nfrom zoo.", 1)
    for old, new in {
        "from zoo.registry.declarations import part\n": "",
        f"my-{kind}": name,
        f"my_{kind}": name.replace("-", "_"),  # what a metric is called in records
        f"my {kind}": re.sub("[-_]", " ", name),
    }.items():
        copied = copied.replace(old, new)
    return copied


def _text(file: str) -> str:
    return (files(zoo) / file).read_text("utf-8")


def _last_part(text: str) -> tuple[str, ast.ClassDef | ast.FunctionDef]:
    """The text of a file without the parts before the last, and the definition of the last."""
    nodes = (n for n in ast.parse(text).body if isinstance(n, ast.ClassDef | ast.FunctionDef))
    *others, last = [node for node in nodes if node.decorator_list]
    if not others:
        return text, last
    lines = text.splitlines(keepends=True)
    del lines[others[0].decorator_list[0].lineno - 1 : last.decorator_list[0].lineno - 1]
    return _last_part("".join(lines))


def write_plugin(kind: str, name: str, into: Path) -> Path:
    """Write the plug-in's folder into ``into``, and return its path.

    Raises ZooError as ``plugin_files`` does, and where it exists already or cannot be written.
    """
    contents = plugin_files(kind, name)
    folder = into / distribution_of(name)
    try:
        into.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
        for file, text in contents.items():
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    except FileExistsError as error:
        raise ZooError(f"{error.filename} exists already; nothing is written over") from error
    except OSError as error:
        raise ZooError(f"cannot write {error.filename}: {error.strerror}") from error
    return folder
