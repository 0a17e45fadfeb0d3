"""Installed plug-ins: a broken one is named with its reason and hurts nobody."""

import sys

import pytest
from distributions import install
from refused import refused

from zoo.cli import main
from zoo.errors import ZooError
from zoo.models.build import build_norm
from zoo.registry import Registry
from zoo.registry.component import file_of
from zoo.registry.loading import Zoo, load

HOOK = "from zoo import hookimpl\n@hookimpl\ndef zoo_register(register): "
BROKEN = {  # code of a plug-in to what is said of it
    "import-fails": (HOOK + "pass\nraise RuntimeError('no such\\nluck')", "RuntimeError: no such"),
    "exits": ("# hookimpl\nimport sys; sys.exit(7)", "SystemExit: 7"),
    "prints-and-dies": ("# hookimpl\nprint('{]'); 1 / 0", "ZeroDivisionError: division by zero"),
    "error-without-text": (
        "class Wordless(Exception):  # hookimpl\n    def __str__(self): raise self\nraise Wordless",
        "Wordless",
    ),
    "misspelled-hook": (
        HOOK.replace("register(", "registr(") + "pass",
        "hook 'zoo_registr'",
    ),
    "wrong-arguments": (HOOK.replace("(register)", "(register, version)") + "pass", "version"),
    "no-parts": ("def zoo_register(register): pass", "it declares no part and has no hook"),
    "hook-raises": (HOOK + "register.nonsense", "'Register' object has no attribute 'nonsense'"),
    "half": (
        HOOK + "register('norm', 'half', 'a:b', summary=''); register('norm', 'Half!', 'a:b')",
        "TypeError",
    ),
    "taken-command": (
        HOOK + "register('command', 'list', 'a:b', summary='')",
        "command 'list': encoder-zoo 0.2.0 has one of that name",
    ),
    "no-python": ("@part(\n", "SyntaxError"),
    "nowhere": ("", "No module named 'zoo_gone'"),
}
GOOD = """
from torch import nn
from zoo import part

@part("norm", "{name}", source="a paper", adds=("unit-rms",))
class Norm(nn.Module):
    '''It leaves its input as it is.'''

    def __init__(self, dim, *, size: int = 3):
        super().__init__()

@part("norm", "late-{name}")
def build_late(dim):
    '''It fails when it is built.'''
    return "a norm"
"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of installed distributions."""
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith(("zoo_a", "zoo_b"))]:
        del sys.modules[name]


@pytest.fixture
def good(site) -> str:
    return install(site, "zoo-a-good", GOOD.format(name="good"))


def broken(site, case: str) -> str:
    module = "zoo_gone" if case == "nowhere" else f"zoo_b_{case.replace('-', '_')}"
    entry = f"[zoo]\n{case} = {module}\n"
    return install(site, f"zoo-b-{case}", BROKEN[case][0], entry_points=entry)


def statuses(loaded: Zoo) -> dict[str, tuple[str, str]]:
    rows = (row for row in loaded.plugins if row.version == "1.0")
    return {row.distribution: (row.status, row.error) for row in rows}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_plugin_is_named_with_its_reason_and_the_others_go_on(site, good, case, capsys):
    name = broken(site, case)
    loaded = load(selection=f"{name},{good}")
    status, error = statuses(loaded)[name]
    assert status == "failed"
    assert BROKEN[case][1] in error
    (warning,) = loaded.warnings
    assert warning.startswith(f"plug-in {case} ({name} 1.0) is left out: ")
    assert "\n" not in warning
    assert statuses(loaded)[good] == ("ok", "")
    names = loaded.registry.labels("norm")
    assert {"rms", "good"} <= set(names)
    assert "half" not in names
    assert capsys.readouterr().out == ""


def test_zoo_plugins_names_those_that_are_on_and_an_unknown_name_is_an_error(
    site, good, monkeypatch
):
    other = install(site, "zoo-a-other", GOOD.format(name="other"))
    monkeypatch.setenv("ZOO_PLUGINS", "Zoo_A.Good")
    loaded = load()
    assert statuses(loaded) == {good: ("ok", ""), other: ("off", "")}
    assert "other" not in loaded.registry.labels("norm")
    monkeypatch.setenv("ZOO_PLUGINS", "")
    assert {status for status, _ in statuses(load()).values()} == {"off"}
    monkeypatch.setenv("ZOO_PLUGINS", "zoo-a-godo")
    refused("names 'zoo-a-godo', which is not installed; did you mean 'zoo-a-good'", load)


def test_listing_runs_no_part(site, good):
    loaded = load(selection=good)
    assert "zoo_a_good" not in sys.modules
    norm = loaded.registry.get("norm", "good")
    assert (norm.summary, norm.source) == ("It leaves its input as it is", "a paper")
    assert (norm.capabilities, dict(norm.parameters)) == ({"unit-rms"}, {"size": 3})
    assert file_of(norm.module) == site / "zoo_a_good.py"


def test_owners_of_one_name_are_told_apart_and_a_builtin_keeps_its_name(site):
    both = [install(site, f"zoo-a-{x}", GOOD.format(name="shared")) for x in "xy"]
    rms = install(site, "zoo-a-rms", GOOD.format(name="rms"))
    registry: Registry = load(selection=",".join([*both, rms])).registry
    labels = registry.labels("norm")
    assert {"zoo-a-x:shared", "zoo-a-y:shared", "rms", "zoo-a-rms:rms"} <= set(labels)
    refused("ambiguous; say which: zoo-a-x:shared, zoo-a-y:shared", registry.get, "norm", "shared")
    for name in ("rms", "encoder-zoo:rms"):
        assert registry.get("norm", name).owner.distribution == "encoder-zoo"
    named = registry.choose("norm", "zoo-a-y:shared(size=4)")
    assert named.component.owner.distribution == "zoo-a-y"
    assert str(named) == "zoo-a-y:shared(size=4)"
    again = "[zoo]\na = zoo_a_twice\nb = zoo_a_twice\n"
    twice = install(site, "zoo-a-twice", GOOD.format(name="twice"), entry_points=again)
    loaded = load(selection=twice)
    assert "norm 'twice': zoo-a-twice 1.0 has one of that name already" in loaded.warnings[0]


def test_what_fails_when_it_is_built_names_its_owner(site, good):
    registry = load(selection=good).registry
    assert build_norm(registry.choose("norm", "good(size=4)"), 8)
    with pytest.raises(ZooError, match=r"'late-good' of zoo-a-good 1.0 built a str"):
        build_norm(registry.choose("norm", "late-good"), 8)


COMMANDS = """
import click
from zoo import part

@part("command", "greet")
@click.command()
@click.argument("name")
def greet(name):
    '''Say hello.'''
    click.echo(f"Hello, {name}.")

@part("command", "torn")
def torn():
    '''Nobody knows.'''
"""


def test_commands_of_plugins_are_listed_and_run_whatever_is_broken(site, monkeypatch, capsys):
    names = [install(site, "zoo-a-greet", COMMANDS), broken(site, "exits")]
    monkeypatch.setenv("ZOO_PLUGINS", ",".join(names))
    assert main(["--help"]) == 0
    assert "greet     Say hello." in " ".join(capsys.readouterr().out.splitlines())
    assert main(["greet", "you"]) == 0
    assert capsys.readouterr().out == "Hello, you.\n"
    for command, said in (
        ("torn", "command 'torn' of zoo-a-greet 1.0 is no click command"),
        ("gret", "no command 'gret'; did you mean 'greet'?"),
        ("export", "Others come from plug-ins: plugins/README.md"),
    ):
        assert main([command]) == 2
        assert said in capsys.readouterr().err
