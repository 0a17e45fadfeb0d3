"""What the README says is so."""

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from packaging.specifiers import SpecifierSet

from bench.readme import BLOCK, filled, outdated
from zoo.registry import KINDS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
TINY = (
    "--set dim=16,heads=2,ffn_dim=32,layers=1,vocab_size=300,batch_size=16,blocks=1 "
    "--data newswire(train=60,test=30) --max-length 16 --epochs 1 --threads 1"
).split()


def lines(command: str) -> list[str]:
    """The README's lines of one zoo command, comments off."""
    found = re.findall(rf"^ {{4}}(?:.*&& )?(zoo {command}\b[^\n]*)$", README, re.MULTILINE)
    return [line.split("#")[0].strip() for line in found]


def test_the_first_screen_has_a_picture_and_the_command_that_answers():
    top, picture, rest = re.split(r"^(<img .+>)$", README, maxsplit=1, flags=re.MULTILINE)
    assert "    " not in top
    assert len(re.findall(r"[.!?](?:\s|$)", top)) <= 2, "what it is, in two sentences"
    shown = re.search(r'src="(.+?\.svg)" width="(\d+)" alt="[^"]+"', picture)
    assert (ROOT / shown[1]).read_text().startswith("<svg")
    assert int(shown[2]) > 430, "pixels"
    code = [line.strip() for line in rest.splitlines() if line.startswith("    ")]
    assert code[0] == (
        "pip install -c constraints.txt . ./plugins/zoo-efficient && "
        "zoo bench --attention fused,naive --pe rope,sin"
    )
    # CI calls the second as it stands, so that what a newcomer types is what is known to work.
    assert code[1] == 'pip install -c constraints.txt -e ".[test]" && pytest'
    assert code[1] in (ROOT / ".ci" / "run").read_text().splitlines()
    assert lines("bench")[1] == 'zoo bench --attention "fused,window(size=4),linear"'
    assert len(README.splitlines()) <= 130


def test_it_says_how_pip_and_uv_get_the_small_build_of_the_pinned_torch():
    """A build for the CPU has the version with +cpu, which a pin without it takes."""
    for page in (README, (ROOT / "docs" / "getting-started.md").read_text()):
        commands = re.findall(r"^ {4}((?:pip|uv|uvx) .*cpu.*)$", page, re.MULTILINE)
        assert {command.split()[0] for command in commands} == {"pip", "uv", "uvx"}
        assert all("-c constraints.txt" in command for command in commands)
    (pin,) = re.findall(r"^torch(==\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert SpecifierSet(pin).contains(f"{pin.removeprefix('==')}+cpu")


def test_the_skills_under_the_picture_are_those_of_the_profiles_table():
    """Counted in its table, in another way: what attention learns with every seed, and others."""
    table = pd.read_csv(ROOT / "results" / "diagnostics" / "cpu" / "profile" / "profile.csv")
    table["always"] = table["solved"] == table["runs"]
    count = table.groupby("row")["always"].sum()
    every = table["data"].nunique()
    assert f"with `rope` learns {count['fused+rope']} of {every} skills" in README
    for row, learned in count.items():
        mixer, encoding = str(row).rsplit("+", 1)
        if (table["row"] == row).sum() < every or row == "fused+rope":
            continue
        assert f"`{encoding if mixer == 'fused' else mixer}` {learned}" in README, row
    for skill in table[(table["row"] == "fused+rope") & ~table["always"]]["data"]:
        better = table.query(f"data == {skill!r} and always and versus_reference == 1")
        taken = re.search(rf"[Ff]or [^;.]*\b{skill}\b[^;.]* take ([^;.]+)[;.]", README)
        named = set(re.findall("`([^`]+)`", taken[1])) if taken else set()
        assert named == set(better["row"].str.rpartition("+")[0]), skill


def test_its_answers_are_those_of_the_published_pages():
    assert len(BLOCK.findall(README)) == 3
    assert filled(README, ROOT) == README


def test_pages_that_are_not_current_are_counted_under_what_quotes_them(tmp_path):
    for name, line in (("a", "Not current: code has changed since"), ("b", "Current: no code")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "README.md").write_text(f"# {name}\n\n{line}.\n")
    quoted = "[Table](a/README.md), [Table](b/README.md), [again](a/README.md#plots)"
    assert "Not current: 1 of 2 pages linked here." in outdated(quoted, tmp_path)
    assert outdated("[Table](b/README.md), [text](a/other.md)", tmp_path) == ""


@pytest.mark.slow
def test_the_first_commands_zoo_line_gives_four_cells_and_the_baseline(tmp_path, said):
    command = lines("bench")[0]
    assert command == "zoo bench --attention fused,naive --pe rope,sin"
    out = tmp_path / "out"
    printed = said(*shlex.split(command)[1:], *TINY, "--out", out).out
    for row in ("fused", "naive", "tfidf-logreg"):
        assert row in printed


@pytest.mark.parametrize("command", [c for c in lines("bench") if "--plan" in c])
def test_plans_are_printed_as_shown(command, said):
    assert "to run" in said(*shlex.split(command)[1:]).out


@pytest.mark.parametrize("command", [*lines("list"), *lines("info")])
def test_listings_are_printed_as_shown(command, said):
    assert "fused" in said(*shlex.split(command)[1:]).out


def test_the_table_of_parts_names_every_built_in(registry):
    for kind in filter(registry.labels, KINDS):
        (row,) = (line for line in README.splitlines() if line.startswith(f"| {kind} |"))
        assert set(re.findall(r"`([^`]+)`", row)) == set(registry.labels(kind))


def test_every_picture_and_link_to_a_file_is_there():
    targets = [t.split("#")[0] for t in re.findall(r"\]\(([^)\s]+)\)", README)]
    local = [target for target in targets if target and "://" not in target]
    for target in local:
        assert (ROOT / target).exists(), target
