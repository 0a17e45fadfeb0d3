"""The tables of parts: from the registry and checks, and with facts that hold."""

import importlib.util
import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from markdown_tables import cells

from bench import inventory
from bench.commit import code_commit, commit_sentence
from bench.inventory import LIBRARIES, Facts, find_parts, numbers_table, page, read_facts
from bench.publish.others import INVENTORY
from zoo.conformance.check import checks_of
from zoo.registry import AXES

VERSIONS = {"one": "1.0", "two": "2.0"}


def results(*parts: str, **statuses: str) -> list[dict[str, str]]:
    """Of all checks of each part: passed, but for those that are named."""
    return [
        {"component": part, "check": check, "status": statuses.get(check, "passed")}
        for part in parts
        for check in checks_of(part.partition("/")[0])
    ]


def facts(**names: Mapping[str, str]) -> Facts:
    return {LIBRARIES: VERSIONS, "pool": names}


def test_a_part_counts_if_all_its_checks_were_run_and_none_failed(registry, capsys):
    done = results("pool/mean") + results("pool/cls", slopes="failed")
    done += results("norm/rms")[1:]
    parts = find_parts(registry, done)
    assert [(part.kind, part.name) for part in parts] == [("pool", "mean")]
    named = capsys.readouterr().err
    assert "pool/cls: not counted: a check failed\n" in named
    assert "norm/rms: not counted: not all were run\n" in named
    text = page(parts, facts(mean={}))
    assert re.search(r"\| `mean` +\| encoder-zoo ", text)
    assert "`cls`" not in text


def test_another_form_is_shown_and_not_counted(registry):
    parts = find_parts(registry, results("pool/mean", "pool/cls"))
    known = facts(mean={"one": "Mean", "two": "~Average"}, cls={})
    counted = {row[0]: row[1:] for row in cells(numbers_table(parts, known))}
    assert counted["pool"] == counted["all"] == ["2", "1", "0", "1"]
    assert counted["norm"] == ["0", "0", "0", "0"]
    shown = {row[0]: row[2:] for row in cells(page(parts, known)) if row[0].startswith("`")}
    assert shown == {"`mean`": ["`Mean`", "~ `Average`"], "`cls`": ["–", "–"]}


def test_a_part_without_an_entry_is_in_no_library_that_is_counted(registry):
    parts = find_parts(registry, results("pool/mean", "pool/cls"))
    known = facts(mean={})
    counted = {row[0]: row[1:] for row in cells(numbers_table(parts, known))}
    assert counted["pool"] == ["2", "0", "0", "1"]
    shown = {row[0]: row[2:] for row in cells(page(parts, known)) if row[0].startswith("`")}
    assert shown == {"`mean`": ["–", "–"], "`cls`": ["?", "?"]}


def test_the_entries_are_of_kinds_and_libraries_that_there_are():
    facts = read_facts()
    assert facts.keys() <= {LIBRARIES, *AXES}
    known = [own for axis in AXES for own in facts[axis].values()]
    assert {library for own in known for library in own} <= set(facts[LIBRARIES])


def test_names_of_transformers_are_in_its_source():
    found = importlib.util.find_spec("transformers")
    if found is None or found.origin is None:
        pytest.skip("transformers is not installed")
    home, missing = Path(found.origin).parent, []
    known = [names for axis in AXES for names in read_facts()[axis].values()]
    for names in known:
        if "transformers" not in names:
            continue
        module, _, name = names["transformers"].lstrip("~").partition(".")
        name, _, option = name.partition("(")
        name = name.rpartition(".")[2]
        files = [home / f"{module}.py", home / "models" / module / f"modeling_{module}.py"]
        files += [*(home / module).glob("*.py")]
        source = "\n".join(file.read_text(encoding="utf-8") for file in files if file.exists())
        defined = re.search(rf"^(class|def) {name}\b|\bnn\.{name}\(", source, re.MULTILINE)
        words = re.findall(r"[a-z_]+", option)
        if defined is None or any(word not in source for word in words):
            missing.append(names["transformers"])
    assert not missing, missing


def test_tables_are_made_of_what_zoo_check_found(tmp_path):
    file = tmp_path / "checks.json"
    file.write_text(json.dumps({"results": results("pool/mean") + results("pool/cls")[1:]}))
    inventory.main([str(file), str(tmp_path / INVENTORY)])
    inventory.publish(tmp_path / INVENTORY, tmp_path / "made")
    text = (tmp_path / "made" / "README.md").read_text()
    assert re.search(r"\| `mean` +\| encoder-zoo +\| `TransformerWrapper", text)
    assert "`cls` " not in text
    assert text.endswith(f"\n{commit_sentence([code_commit()])}\n")
    assert (tmp_path / "made" / "table.md").read_text() in text
