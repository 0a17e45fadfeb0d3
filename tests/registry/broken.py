"""Broken plug-ins, each broken in one way, as somebody's package might be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from wheels import write_wheel

HEAD = "from zoo import hookimpl\n"


def registering(*components: str) -> str:
    """A plug-in module whose hook makes these ``register(...)`` calls."""
    calls = "".join(f"    register({c}, summary='of a test')\n" for c in components)
    return f"{HEAD}\n@hookimpl\ndef zoo_register(register):\n{calls}"


MODULES = """
import torch

class Norm(torch.nn.Identity):
    def __init__(self, dim):
        super().__init__()
"""


@dataclass(frozen=True)
class Broken:
    """One broken distribution.

    message: what the user must read of it. works: its components that can be used nevertheless.
    """

    case: str
    plugin: str
    status: str
    message: str
    works: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    entry_points: str = ""
    requires: str = ""

    @property
    def distribution(self) -> str:
        return f"zoo-{self.case}"

    @property
    def module(self) -> str:
        return f"zoo_{self.case.replace('-', '_')}"

    def wheel(self, folder: Path) -> Path:
        return write_wheel(
            folder,
            self.distribution,
            {f"{self.module}.py": self.plugin, **self.files},
            entry_points=self.entry_points or f"[zoo]\n{self.case} = {self.module}\n",
            requires=self.requires,
        )


def failed(case: str, plugin: str, message: str, **more: str) -> Broken:
    return Broken(case, plugin, "failed", message, **more)


BROKEN = [
    failed("import-fails", "raise RuntimeError('no such\\nluck')", "RuntimeError: no such luck"),
    failed("exits", "import sys; sys.exit(7)", "SystemExit: 7"),
    failed("prints-and-dies", "print('{]'); 1 / 0", "ZeroDivisionError: division by zero"),
    failed(
        "error-without-text",
        "class Wordless(Exception):\n    def __str__(self): raise self\nraise Wordless",
        "Wordless",
    ),
    failed(
        "misspelled-hook",
        f"{HEAD}\n@hookimpl\ndef zoo_registr(register): pass",
        "no hook 'zoo_registr'; did you mean 'zoo_register'?",
    ),
    failed("no-hook", "def zoo_register(register): pass", "it implements no hook"),
    failed(
        "wrong-signature",
        f"{HEAD}\n@hookimpl\ndef zoo_register(register, version): pass",
        "wrong signature: hookimpl definition: zoo_register(register, version)",
    ),
    failed(
        "signature-without-register",
        f"{HEAD}\n@hookimpl\ndef zoo_register(): pass",
        "wrong signature: zoo_register must take 'register'",
    ),
    failed(
        "hook-raises",
        registering("'norm', 'half', lambda dim: None") + "    register.nonsense\n",
        "zoo_register raised AttributeError: 'Register' object has no attribute 'nonsense'",
    ),
    failed(
        "hook-returns-nonsense",
        registering("'norm', 'half', lambda dim: None") + "    return {'norm': 'half'}\n",
        "zoo_register must return nothing, not a dict",
    ),
    failed(
        "newer-zoo",
        "requires_zoo = '>=99'\n" + registering("'norm', 'mine', lambda dim: None"),
        "it needs encoder-zoo >=99; this is ",
    ),
    failed(
        "newer-zoo-by-metadata",
        "from zoo import something_of_tomorrow",
        "it needs encoder-zoo >=99; this is ",
        requires="encoder-zoo>=99",
    ),
    failed(
        "requires-nonsense",
        "requires_zoo = 'the newest'\n" + registering("'norm', 'mine', lambda dim: None"),
        "requires_zoo is no version specifier: 'the newest'",
    ),
    failed(
        "entry-point-to-nowhere",
        "",
        "no attribute 'plugin'",
        entry_points="[zoo]\nentry-point-to-nowhere = zoo_entry_point_to_nowhere:plugin\n",
    ),
    failed(
        "commands-raise",
        f"{HEAD}\n@hookimpl\ndef zoo_commands(app): app.nonsense",
        "zoo_commands raised AttributeError: ",
    ),
    failed(
        "taken-command",
        f"{HEAD}\n@hookimpl\ndef zoo_commands(app): app('list', 'a:b', summary='of a test')",
        "command 'list': encoder-zoo 0.2.0 has one of that name",
    ),
    Broken(
        "factory-module-missing",
        registering(
            "'norm', 'gone', 'zoo_nowhere.norms:Norm'", "'norm', 'kept', 'zoo_kept_a:Norm'"
        ),
        "partial",
        "norm 'gone': 'zoo_nowhere.norms:Norm': there is no module 'zoo_nowhere.norms'",
        works=("norm/kept",),
        files={"zoo_kept_a.py": MODULES},
    ),
    Broken(
        "class-no-module",
        "class Norm: pass\n" + registering("'norm', 'simple', Norm"),
        "failed",
        "norm 'simple': Norm is no torch.nn.Module",
    ),
    Broken(
        "twice-in-one",
        registering("'norm', 'doubled', 'zoo_twice:Norm'"),
        "failed",
        "norm 'doubled': this distribution has one of that name already",
        works=("norm/doubled",),
        files={"zoo_twice.py": MODULES},
        entry_points="[zoo]\na-first = zoo_twice_in_one\ntwice-in-one = zoo_twice_in_one\n",
    ),
]

# Two commands that work, and two whose modules cannot be used.
COMMANDS = """
import click

@click.command()
@click.argument("kind")
def count(kind):
    from zoo.registry.loading import load
    click.echo(len(load().registry.components(kind)))

@hookimpl
def zoo_commands(app):
    app("count", count, summary="Count the components of a kind.")
    app("greet", "zoo_good_command:greet", summary="Say hello.")
    app("torn", "zoo_torn_command:torn", summary="Nobody knows.")
    app("lost", "zoo_good_command:click", summary="It is no command.")
"""
GREET = """
import click

@click.command()
@click.argument("name")
def greet(name):
    click.echo(f"Hello, {name}.")
"""
GOOD = Broken(
    "good",
    registering("'norm', 'good', 'zoo_good_norm:Norm'", "'data', 'good', 'zoo_good_norm:data'")
    + COMMANDS,
    "ok",
    "",
    works=("norm/good", "data/good"),
    files={
        "zoo_good_norm.py": f"{MODULES}\ndef data(): pass\n",
        "zoo_good_command.py": GREET,
        "zoo_torn_command.py": "def torn(:",
    },
    requires="encoder-zoo-extras>=99",
)

# Two distributions that chose the same entry-point name.
SAME_ENTRY = [
    Broken(
        f"same-entry-{letter}",
        registering(f"'norm', 'entry-{letter}', 'zoo_good_norm:Norm'"),
        "clash",
        "zoo-same-entry-a 1.0 and zoo-same-entry-b 1.0 each call a plug-in 'same-entry'",
        works=(f"norm/entry-{letter}",),
        entry_points=f"[zoo]\nsame-entry = zoo_same_entry_{letter}\n",
    )
    for letter in "ab"
]

# Two that chose the same component name, and one that chose a name of the zoo's own.
SAME_NAME = [
    Broken(
        f"same-name-{letter}",
        registering("'norm', 'shared', 'zoo_good_norm:Norm'"),
        "clash",
        "norm 'shared' (ask for zoo-same-name-a:shared or zoo-same-name-b:shared)",
        works=(f"norm/zoo-same-name-{letter}:shared",),
    )
    for letter in "ab"
]
TAKEN_NAME = Broken(
    "taken-name",
    registering("'norm', 'rms', 'zoo_good_norm:Norm'"),
    "clash",
    "encoder-zoo 0.2.0 and zoo-taken-name 1.0 register the same names: "
    "norm 'rms' (ask for zoo-taken-name:rms)",
    works=("norm/rms", "norm/zoo-taken-name:rms"),
)

# What cannot be known without an import: these are listed, and fail when they are built.
BUILD = Broken(
    "fails-when-built",
    registering(
        "'norm', 'late', 'zoo_late:Late'",
        "'norm', 'odd', 'zoo_late:odd'",
        "'norm', 'unready', 'zoo_unready:Norm'",
        "'norm', 'shy', 'zoo_late:Shy'",
        "'norm', 'lost', 'zoo_late:Nrom'",
        "'norm', 'torn', 'zoo_torn:Norm'",
        "'norm', 'heavy', 'zoo_heavy.norms:Norm'",
        "'pool', 'plain', 'zoo_late:plain'",
    ),
    "ok",
    "",
    works=(
        "norm/late",
        "norm/odd",
        "norm/unready",
        "norm/shy",
        "norm/lost",
        "norm/torn",
        "norm/heavy",
        "pool/plain",
    ),
    files={
        "zoo_late.py": """
import collections
from torch import nn

class Late(collections.UserDict):
    def __init__(self, dim):
        super().__init__()

class Shy(nn.Module):
    def __init__(self):
        super().__init__()

def odd(dim):
    return "a norm"

def plain(dim):
    return lambda x, attention_mask: x[:, 0]
""",
        "zoo_unready.py": "import flash_attention_of_tomorrow\n",
        "zoo_torn.py": "class Norm(:",
        "zoo_heavy/__init__.py": "import torch\n",
        "zoo_heavy/norms.py": MODULES,
    },
)

EVERYTHING = [*BROKEN, GOOD, *SAME_ENTRY, *SAME_NAME, TAKEN_NAME, BUILD]
