"""A broken package costs its users one line, and nothing else."""

from __future__ import annotations

import json

import pytest
from broken import BROKEN, BUILD, EVERYTHING, GOOD, SAME_ENTRY, SAME_NAME, TAKEN_NAME, Broken
from sandbox import SitePackages

from zoo.config.sizes import Sizes
from zoo.errors import ZooError
from zoo.models.build import build_classifier
from zoo.registry.cell import Cell
from zoo.registry.loading import load


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory) -> SitePackages:
    """A place in which every broken plug-in is installed."""
    folder = tmp_path_factory.mktemp("broken")
    site = SitePackages(folder / "site-packages")
    site.install(*(plugin.wheel(folder) for plugin in EVERYTHING))
    return site


def only(*plugins: Broken) -> str:
    return ",".join(plugin.distribution for plugin in plugins)


def listed(sandbox: SitePackages, plugins: str) -> tuple[set[str], list[str]]:
    """What ``zoo list`` lists, and its lines on stderr; it must succeed."""
    done = sandbox.zoo("list", "--json", plugins=plugins)
    assert done.returncode == 0, done.stderr
    return {f"{c['kind']}/{c['name']}" for c in json.loads(done.stdout)}, done.stderr.splitlines()


def rows(sandbox: SitePackages, plugins: str | None) -> list[dict[str, str]]:
    done = sandbox.zoo("plugins", "--json", plugins=plugins)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, str]] = json.loads(done.stdout)
    return [row for row in found if row["name"] != "a-first"]


def row_of(found: list[dict[str, str]], plugin: Broken) -> dict[str, str]:
    (row,) = [row for row in found if row["distribution"] == plugin.distribution]
    return row


BUILT_IN = {"attention/fused", "pe/rope", "norm/rms", "data/newswire", "baseline/tfidf-logreg"}


@pytest.mark.parametrize("plugin", BROKEN, ids=lambda plugin: plugin.case)
def test_a_broken_plugin_costs_one_line_and_the_others_go_on(sandbox, plugin):
    components, stderr = listed(sandbox, only(plugin, GOOD))

    assert {*BUILT_IN, *GOOD.works, *plugin.works} <= components
    assert [c for c in components if "half" in c or "mine" in c] == []
    (warning,) = stderr
    assert warning.startswith("warning: ")
    assert plugin.message in warning
    assert f"({plugin.distribution} 1.0)" in warning


def test_everything_broken_at_once(sandbox):
    found, printed = rows(sandbox, None), sandbox.zoo("plugins")
    assert (printed.returncode, printed.stderr) == (0, "")
    lines = printed.stdout.splitlines()
    for plugin in EVERYTHING:
        row = row_of(found, plugin)
        assert (row["status"], row["version"]) == (plugin.status, "1.0"), plugin.case
        assert plugin.message in row["error"]
        assert "\n" not in row["error"]
        (*_, line) = [x for x in lines if plugin.distribution in x.split() and plugin.message in x]
        assert line.split()[3] == plugin.status
    done = sandbox.zoo("list")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    clashes = 3
    mine = [line for line in done.stderr.splitlines() if "zoo-" in line]
    assert len(mine) == len(BROKEN) + clashes


def test_an_empty_zoo_plugins_leaves_the_builtins_alone(sandbox):
    components, stderr = listed(sandbox, "")

    assert stderr == []
    assert "norm/good" not in components
    assert components >= BUILT_IN
    assert {row["status"] for row in rows(sandbox, "") if row["version"] == "1.0"} == {"blocked"}


@pytest.mark.parametrize("word", ["-import-fails", "-zoo-import-fails", "-Zoo_Import.Fails"])
def test_one_plugin_is_blocked_by_its_name_or_its_distribution(sandbox, word):
    (row,) = [row for row in rows(sandbox, word) if row["status"] == "blocked"]
    assert row["distribution"] == "zoo-import-fails"


def test_a_word_that_blocks_nothing_is_a_warning(sandbox):
    done = sandbox.zoo("list", plugins="-zoo-godo")
    assert "warning: ZOO_PLUGINS names 'zoo-godo', which is not installed" in done.stderr
    assert "did you mean 'zoo-good'?" in done.stderr


def test_all_commands_go_on_whatever_is_broken(sandbox):
    helped = sandbox.zoo("--help")
    assert (helped.returncode, helped.stderr) == (0, "")
    for line in ("  bench ", "count     Count the components of a kind.", "Say hello."):
        assert line in helped.stdout
    greeted = sandbox.zoo("greet", "you")
    assert (greeted.returncode, greeted.stdout, greeted.stderr) == (0, "Hello, you.\n", "")
    assert sandbox.zoo("count", "pool", plugins=only(GOOD)).stdout == "2\n"
    assert sandbox.zoo("greet", "--help").stdout.startswith("Usage: zoo greet [OPTIONS] NAME")


@pytest.mark.parametrize(
    ("command", "plugins", "messages"),
    [
        ("torn", [GOOD], ["'torn' of zoo-good 1.0 cannot be loaded from 'zoo_torn_", "SyntaxErr"]),
        ("lost", [GOOD], ["command 'lost' of zoo-good 1.0"]),
        (
            "gret",
            [GOOD, BROKEN[0]],
            ["warning: plug-in import-fails", "no command 'gret'; did you mean 'greet'?"],
        ),
        (
            "export",
            [],
            ["zoo export is in a package of its own: pip install ./plugins/zoo-export"],
        ),
    ],
)
def test_a_command_that_there_is_not_says_why(sandbox, command, plugins, messages):
    done = sandbox.zoo(command, plugins=only(*plugins))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == max(len(plugins), 1)
    for message in messages:
        assert message in done.stderr


def test_a_torn_entry_point_file_does_not_hide_the_other_plugins(tmp_path):
    sandbox = SitePackages(tmp_path / "site-packages")
    sandbox.install(GOOD.wheel(tmp_path))
    (good,) = sandbox.folder.rglob("zoo_good-1.0.dist-info")
    torn = good.with_name("zoo_torn-2.0.dist-info")
    torn.mkdir()
    (torn / "METADATA").write_text("Metadata-Version: 2.1\nName: zoo-torn\nVersion: 2.0\n")
    (torn / "entry_points.txt").write_text("[zoo]\ntorn = zoo_to\ncut sho")

    components, stderr = listed(sandbox, only(GOOD) + ",zoo-torn")
    assert "norm/good" in components
    (warning,) = stderr
    assert "(zoo-torn 2.0) is left out: its metadata cannot be read" in warning


def test_two_distributions_with_one_entry_point_name_are_both_used(sandbox):
    components, stderr = listed(sandbox, only(*SAME_ENTRY, GOOD))

    assert {"norm/entry-a", "norm/entry-b"} <= components
    (warning,) = stderr
    assert "zoo-same-entry-a 1.0 and zoo-same-entry-b 1.0" in warning
    assert {row_of(rows(sandbox, None), plugin)["name"] for plugin in SAME_ENTRY} == {"same-entry"}
    one, _ = listed(sandbox, f"-{SAME_ENTRY[0].distribution}")
    assert "norm/entry-a" not in one
    assert "norm/entry-b" in one


def test_a_name_of_two_owners_needs_the_distribution(sandbox):
    components, stderr = listed(sandbox, only(*SAME_NAME, GOOD))

    assert {"norm/zoo-same-name-a:shared", "norm/zoo-same-name-b:shared"} <= components
    assert "norm/shared" not in components
    (warning,) = stderr
    assert "zoo-same-name-a:shared or zoo-same-name-b:shared" in warning
    refused = sandbox.zoo("info", "norm/shared", plugins=only(*SAME_NAME))
    assert refused.returncode == 2
    assert "norm 'shared' is ambiguous" in refused.stderr.splitlines()[-1]
    found = sandbox.zoo("info", "norm/zoo-same-name-b:shared", plugins=only(*SAME_NAME))
    assert "zoo-same-name-b 1.0" in found.stdout


def test_a_builtin_keeps_its_name(sandbox):
    components, stderr = listed(sandbox, only(TAKEN_NAME, GOOD))

    assert {"norm/rms", "norm/zoo-taken-name:rms"} <= components
    (warning,) = stderr
    assert "ask for zoo-taken-name:rms" in warning
    built_in = sandbox.zoo("info", "norm/rms", "--json", plugins=only(TAKEN_NAME))
    assert json.loads(built_in.stdout)["owner"]["distribution"] == "encoder-zoo"


def test_zoo_bench_plans_the_others_with_one_warning_each(sandbox):
    norms = "good,zoo-same-name-a:shared"
    data = ["--data", "order(train=60,test=12)"]
    done = sandbox.zoo("bench", "--norm", norms, *data, "--baseline", "none", "--plan")

    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if line.startswith("warning: ")] == (
        sandbox.zoo("list").stderr.splitlines()
    )
    planned = [line.split() for line in done.stdout.splitlines()]
    for norm in norms.split(","):
        assert any(norm in words and "run" in words for words in planned)


def test_listing_what_fails_only_when_built_imports_no_torch(sandbox):
    program = (
        "import sys; from zoo.cli import main; main(['list', '--json']); "
        "print('torch' in sys.modules, 'zoo_late' in sys.modules)"
    )
    done = sandbox.run("-c", program, plugins=only(*EVERYTHING))
    assert done.stdout.splitlines()[-1] == "False False"


def test_what_fails_when_built_names_its_owner_and_the_others_are_built(sandbox, monkeypatch):
    monkeypatch.setenv("ZOO_PLUGINS", only(BUILD, GOOD))
    base = {"attention": "fused", "pe": "rope", "norm": "rms", "ffn": "none", "block": "pre"}
    base["pool"] = "mean"
    sizes = Sizes(dim=8, heads=2, layers=1, ffn_dim=8)
    norms = ("late", "odd", "unready", "shy", "lost", "torn", "good")
    outcomes = {}
    with sandbox.on_the_path():
        registry = load().registry
        for axis, name in [*(("norm", name) for name in norms), ("pool", "plain")]:
            cell = Cell.parse(registry, {**base, axis: name})
            try:
                build_classifier(cell, sizes, vocab_size=9, classes=2, seed=0)
                outcomes[name] = "built"
            except ZooError as error:
                outcomes[name] = str(error)
    assert outcomes.pop("good") == "built"
    assert all("zoo-fails-when-built 1.0" in text for text in outcomes.values()), outcomes
    assert "UserDict" in outcomes["late"] or "Late" in outcomes["late"]
    assert "built a str, not a torch.nn" in outcomes["odd"]
    assert "No module named 'flash_attention_of_tomorrow'" in outcomes["unready"]
    assert "TypeError" in outcomes["shy"]
    assert "has no attribute 'Nrom'" in outcomes["lost"]
    assert "SyntaxError" in outcomes["torn"]
    assert "built a function" in outcomes["plain"]
