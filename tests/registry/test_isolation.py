"""A broken package costs its users one line, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from broken import BROKEN, BUILD, EVERYTHING, GOOD, SAME_ENTRY, SAME_NAME, TAKEN_NAME, Broken
from sandbox import SitePackages

from zoo.config.sizes import Sizes
from zoo.errors import ZooError
from zoo.models.build import build_classifier
from zoo.registry.cell import Cell
from zoo.registry.loading import load


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> SitePackages:
    """A place in which every broken plug-in is installed."""
    folder = tmp_path_factory.mktemp("broken")
    site = SitePackages(folder / "site-packages")
    site.install(*(plugin.wheel(folder) for plugin in EVERYTHING))
    return site


@pytest.fixture(scope="session")
def all_rows(sandbox: SitePackages) -> list[dict[str, str]]:
    """``zoo plugins --json`` with every plug-in allowed."""
    return rows(sandbox, None)


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
    return found


def row_of(found: list[dict[str, str]], plugin: Broken) -> dict[str, str]:
    (row,) = [
        row
        for row in found
        if row["distribution"] == plugin.distribution and row["name"] != "a-first"
    ]
    return row


BUILT_IN = {"attention/fused", "pe/rope", "norm/rms", "data/newswire", "baseline/tfidf-logreg"}


@pytest.mark.parametrize("plugin", BROKEN, ids=lambda plugin: plugin.case)
def test_a_broken_plugin_costs_one_line_and_the_others_go_on(
    sandbox: SitePackages, plugin: Broken
) -> None:
    components, stderr = listed(sandbox, only(plugin, GOOD))

    assert {*BUILT_IN, *GOOD.works, *plugin.works} <= components
    assert [c for c in components if "half" in c or "mine" in c] == []
    (warning,) = stderr
    assert warning.startswith("warning: ")
    assert plugin.message in warning
    assert f"({plugin.distribution} 1.0)" in warning


@pytest.mark.parametrize("plugin", BROKEN, ids=lambda plugin: plugin.case)
def test_zoo_plugins_names_owner_and_error(all_rows: list[dict[str, str]], plugin: Broken) -> None:
    row = row_of(all_rows, plugin)

    assert (row["status"], row["version"]) == (plugin.status, "1.0")
    assert plugin.message in row["error"]
    assert "\n" not in row["error"]


def test_zoo_plugins_prints_a_line_for_each(sandbox: SitePackages) -> None:
    done = sandbox.zoo("plugins")

    assert (done.returncode, done.stderr) == (0, "")
    for plugin in EVERYTHING:
        lines = [line.split() for line in done.stdout.splitlines() if plugin.message in line]
        assert any(
            (words[1], words[3]) == (plugin.distribution, plugin.status) for words in lines
        ), plugin.case


def test_everything_broken_at_once(sandbox: SitePackages, all_rows: list[dict[str, str]]) -> None:
    assert {p.distribution: row_of(all_rows, p)["status"] for p in EVERYTHING} == {
        p.distribution: p.status for p in EVERYTHING
    }
    done = sandbox.zoo("list")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    clashes = 3
    mine = [line for line in done.stderr.splitlines() if "zoo-" in line]
    assert len(mine) == len(BROKEN) + clashes


def test_an_empty_zoo_plugins_leaves_the_builtins_alone(sandbox: SitePackages) -> None:
    components, stderr = listed(sandbox, "")

    assert stderr == []
    assert "norm/good" not in components
    assert components >= BUILT_IN
    assert {row["status"] for row in rows(sandbox, "") if row["version"] == "1.0"} == {"blocked"}


def test_blocking_each_broken_plugin_by_name_silences_them_all(sandbox: SitePackages) -> None:
    blocked = [*BROKEN, *SAME_NAME, TAKEN_NAME]
    names = [plugin.case for plugin in blocked] + ["a-first", "same-entry"]

    components, stderr = listed(sandbox, ",".join(f"-{name}" for name in names))
    assert [line for line in stderr if "zoo-" in line] == []
    assert {*GOOD.works, *BUILD.works} <= components
    assert not [c for plugin in BROKEN for c in plugin.works if c in components]


@pytest.mark.parametrize("word", ["-import-fails", "-zoo-import-fails", "-Zoo_Import.Fails"])
def test_one_plugin_is_blocked_by_its_name_or_its_distribution(
    sandbox: SitePackages, word: str
) -> None:
    found = rows(sandbox, word)

    (row,) = [row for row in found if row["status"] == "blocked"]
    assert row["distribution"] == "zoo-import-fails"


def test_all_commands_go_on_whatever_is_broken(sandbox: SitePackages) -> None:
    helped = sandbox.zoo("--help")
    assert (helped.returncode, helped.stderr) == (0, "")
    assert "  bench " in helped.stdout
    assert "  greet  " in helped.stdout
    assert "Say hello." in helped.stdout
    greeted = sandbox.zoo("greet", "you")
    assert (greeted.returncode, greeted.stdout, greeted.stderr) == (0, "Hello, you.\n", "")
    assert sandbox.zoo("greet", "--help").stdout.startswith("Usage: zoo greet [OPTIONS] NAME")


def test_a_command_that_cannot_be_loaded_names_its_owner(sandbox: SitePackages) -> None:
    torn = sandbox.zoo("torn", plugins=only(GOOD))
    assert torn.returncode == 2
    start = "zoo torn: error: command 'torn' of zoo-good 1.0 cannot be loaded from 'zoo_torn_"
    assert torn.stderr.startswith(start)
    assert "SyntaxError" in torn.stderr
    lost = sandbox.zoo("lost", plugins=only(GOOD))
    assert lost.returncode == 2
    assert "command 'lost' of zoo-good 1.0" in lost.stderr


def test_a_command_that_none_has_says_what_could_not_be_loaded(sandbox: SitePackages) -> None:
    missing = sandbox.zoo("gret", plugins=only(GOOD, BROKEN[0]))
    warning, error = missing.stderr.splitlines()
    assert missing.returncode == 2
    assert warning.startswith("warning: plug-in import-fails")
    assert "no command 'gret'; did you mean 'greet'?" in error
    export = sandbox.zoo("export", "model", plugins="")
    assert export.returncode == 2
    assert export.stderr == (
        "zoo: error: zoo export is in a package of its own: pip install ./plugins/zoo-export\n"
    )


def test_a_torn_entry_point_file_does_not_hide_the_other_plugins(
    tmp_path: Path,
) -> None:
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


def test_a_word_that_blocks_nothing_is_a_warning(sandbox: SitePackages) -> None:
    done = sandbox.zoo("list", plugins="-zoo-godo")
    assert "warning: ZOO_PLUGINS names 'zoo-godo', which is not installed" in done.stderr
    assert "did you mean 'zoo-good'?" in done.stderr


def test_two_distributions_with_one_entry_point_name_are_both_used(sandbox: SitePackages) -> None:
    components, stderr = listed(sandbox, only(*SAME_ENTRY, GOOD))

    assert {"norm/entry-a", "norm/entry-b"} <= components
    (warning,) = stderr
    assert "zoo-same-entry-a 1.0 and zoo-same-entry-b 1.0" in warning
    for plugin in SAME_ENTRY:
        row = row_of(rows(sandbox, only(*SAME_ENTRY)), plugin)
        assert (row["name"], row["status"]) == ("same-entry", "clash")
    one, _ = listed(sandbox, f"-{SAME_ENTRY[0].distribution}")
    assert "norm/entry-a" not in one
    assert "norm/entry-b" in one


def test_a_name_of_two_owners_needs_the_distribution(sandbox: SitePackages) -> None:
    components, stderr = listed(sandbox, only(*SAME_NAME, GOOD))

    assert {"norm/zoo-same-name-a:shared", "norm/zoo-same-name-b:shared"} <= components
    assert "norm/shared" not in components
    (warning,) = stderr
    assert "zoo-same-name-a:shared or zoo-same-name-b:shared" in warning
    for plugin in SAME_NAME:
        row = row_of(rows(sandbox, only(*SAME_NAME)), plugin)
        assert row["status"] == "clash"
        assert plugin.message in row["error"]
    refused = sandbox.zoo("info", "norm/shared", plugins=only(*SAME_NAME))
    assert refused.returncode == 2
    assert "norm 'shared' is ambiguous" in refused.stderr.splitlines()[-1]
    found = sandbox.zoo("info", "norm/zoo-same-name-b:shared", plugins=only(*SAME_NAME))
    assert "zoo-same-name-b 1.0" in found.stdout


def test_a_builtin_keeps_its_name(sandbox: SitePackages) -> None:
    components, stderr = listed(sandbox, only(TAKEN_NAME, GOOD))

    assert {"norm/rms", "norm/zoo-taken-name:rms"} <= components
    (warning,) = stderr
    assert "ask for zoo-taken-name:rms" in warning
    assert TAKEN_NAME.message in row_of(rows(sandbox, only(TAKEN_NAME)), TAKEN_NAME)["error"]
    built_in = sandbox.zoo("info", "norm/rms", "--json", plugins=only(TAKEN_NAME))
    assert json.loads(built_in.stdout)["owner"]["distribution"] == "encoder-zoo"


def test_zoo_bench_plans_the_others_with_one_warning_each(sandbox: SitePackages) -> None:
    request = ["--norm", "all", "--data", "newswire", "--baseline", "none", "--plan"]
    done = sandbox.zoo("bench", *request)

    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if line.startswith("warning: ")] == (
        sandbox.zoo("list").stderr.splitlines()
    )
    planned = [line.split() for line in done.stdout.splitlines()]
    assert any("good" in words and "run" in words for words in planned)
    assert any("zoo-same-name-a:shared" in words for words in planned)


def test_zoo_bench_prints_one_warning_for_one_broken_plugin(sandbox: SitePackages) -> None:
    request = ["--norm", "good,rms", "--data", "newswire", "--baseline", "none", "--plan"]
    done = sandbox.zoo("bench", *request, plugins=only(BROKEN[0], GOOD))

    assert done.returncode == 0
    (warning,) = done.stderr.splitlines()
    assert "zoo-import-fails 1.0" in warning
    assert "2 to run, " in done.stdout


@pytest.mark.slow
def test_zoo_bench_marks_the_row_of_what_fails_when_built(
    sandbox: SitePackages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = "bench --norm odd,good --baseline none --epochs 1 --dim 8 --heads 2"
    sizes = "--layers 1 --ffn-dim 8 --max-length 8 --seeds 1 --phases train"
    out = tmp_path / "out"
    data = ["--data", "newswire(train=100, test=30)"]
    arguments = [*request.split(), *sizes.split(), *data, "--out", str(out), "--on", "inline"]
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    done = sandbox.zoo(*arguments, plugins=only(BUILD, GOOD))

    assert done.returncode == 1
    table = (out / "table.csv").read_text().splitlines()
    (good,) = [line for line in table if ",good," in line]
    (odd,) = [line for line in table if ",odd," in line]
    assert ",ok," in good
    assert ",crashed," in odd
    assert "zoo-fails-when-built 1.0" in odd


def test_listing_what_fails_only_when_built_imports_no_torch(sandbox: SitePackages) -> None:
    program = (
        "import sys; from zoo.cli import main; main(['list', '--json']); "
        "print('torch' in sys.modules, 'zoo_late' in sys.modules)"
    )
    done = sandbox.run("-c", program, plugins=only(*EVERYTHING))
    assert done.stdout.splitlines()[-1] == "False False"


def test_what_fails_when_built_names_its_owner_and_the_others_are_built(
    sandbox: SitePackages, monkeypatch: pytest.MonkeyPatch
) -> None:
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
