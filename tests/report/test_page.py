"""The page as a document: valid, self-contained and small; text from records is not markup."""

import functools
import re

import html5lib
import pytest
from example import run
from factory import cell, skipped
from hostile import ARABIC_SHOWN, CLOSING, EMOJI, QUOTES, SCRIPT
from large_run import large_run
from rendered import render, rendered

from zoo.report.page import report_page, row_command
from zoo.report.rows import environment_of, make_rows
from zoo.report.run_report import RunReport

XHTML = "{http://www.w3.org/1999/xhtml}"


@functools.cache
def parsed(page):
    """The document, by a parser that stops at the first thing the standard calls an error."""
    return html5lib.HTMLParser(strict=True).parse(page)


def texts(tree, tag, **attributes):
    elements = tree.iter(f"{XHTML}{tag}")
    return [
        " ".join("".join(e.itertext()).split())
        for e in elements
        if all(e.get(key.replace("_", "-")) == value for key, value in attributes.items())
    ]


def results_of(tree):
    return next(e for e in tree.iter(f"{XHTML}table") if e.get("id") == "results")


@pytest.fixture
def small():
    return rendered("small").page


@pytest.mark.slow
def test_a_hundred_cells_of_five_seeds_are_under_two_megabytes():
    page = rendered("large").page
    assert len(page.encode()) < 2_000_000
    assert len(list(results_of(parsed(page)).find(f"{XHTML}tbody"))) == 101


def test_ids_are_unique_and_every_label_and_link_has_its_target(small):
    tree = parsed(small)
    ids = [e.get("id") for e in tree.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    wanted = {e.get("for") for e in tree.iter(f"{XHTML}label")} - {None}
    wanted |= {e.get("href")[1:] for e in tree.iter(f"{XHTML}a")}
    wanted |= {e.get(a) for e in tree.iter() for a in ("aria-labelledby", "aria-describedby")}
    assert wanted - {None} <= set(ids)


def test_it_needs_no_network_and_no_other_file(small):
    for element in parsed(small).iter():
        for name, value in element.attrib.items():
            if str(name).endswith(("href", "src", "data")) and not str(name).startswith("data-"):
                assert value.startswith("#"), (element.tag, value)
            assert "url(" not in value or "url(#" in value
    assert "@import" not in small


def test_failed_and_skipped_cells_have_their_reasons(small):
    shown = texts(results_of(parsed(small)), "td")
    for reason in ("fused takes no rotary encoding", "CUDA out of memory", "loss is no number"):
        assert any(text.startswith(reason) for text in shown), reason


def test_hostile_texts_are_text():
    page = rendered("hostile").page
    tree = parsed(page)
    assert len(list(tree.iter(f"{XHTML}script"))) == 1
    assert not list(tree.iter(f"{XHTML}img"))
    assert not [name for e in tree.iter() for name in e.attrib if str(name).startswith("on")]
    shown = [part for tag in ("th", "td", "p", "code") for part in texts(tree, tag)]
    for text in (SCRIPT, CLOSING, QUOTES, ARABIC_SHOWN, EMOJI, "abc d e"):
        assert any(text in part for part in shown), text
    assert "\u202e" not in page, "no name changes the direction of the page's own words"
    assert "a b c d e" not in page


def test_a_run_without_costs_curves_or_any_success_has_a_page():
    for records in (run(seeds=1, baseline=False)[:2], [skipped(cell(), "why not")]):
        tree = parsed(render(records).page)
        assert len(texts(tree, "h1")) == 1
    assert any("why not" in row for row in texts(tree, "td"))


def test_a_page_is_called_like_its_run_and_says_what_was_run():
    records = large_run(cells=15, seeds=3)
    named = parsed(report_page(RunReport(records), [], "tuesday's <run>"))
    assert texts(named, "h1") == ["tuesday's <run>"]
    unnamed = parsed(report_page(RunReport(records), []))
    (title,) = texts(unnamed, "h1")
    assert re.fullmatch(r"\w+, \w+, \w+ and 2 more × \w+, \w+ and \w+ on bbc-news", title), title
    (summary,) = texts(unnamed, "p", id="about")
    assert summary == (
        "15 cells and 1 baseline, 2026-11-20. Data: bbc-news "
        "(baf54e518248), 1172 training and 500 test documents, 53 in both (dropped from training). "
        "Model: layers 2, dim 64, heads 4, max length 64, epochs 6. Machine: a machine, 2 threads, "
        "torch 2.13.0, fp32."
    )


def test_cells_of_the_table_sort_by_their_values_and_are_tinted_by_their_verdicts(report):
    rows = list(results_of(parsed(report_page(report, []))).find(f"{XHTML}tbody"))
    assert [row.get("class") for row in rows] == ["better", "", "", "worse"]
    keys = {column.key: place for place, column in enumerate(report.table.readable)}
    for line, row in zip(report.lines, rows, strict=True):
        for key in ("accuracy_mean", "train_ratio", "peak_memory_mib"):
            shown = row[keys[key]].get("data-key")
            assert (float(shown) if shown else None) == line[key]


def test_every_effect_is_a_sentence(report):
    shown = texts(parsed(report_page(report, [])), "li")
    assert any(sentence.startswith("rope against none: +14.6 ± ") for sentence in shown)


PARTS = "zoo bench --attention 'fused' --pe rope"


@pytest.mark.parametrize(
    ("seeds", "shown"),
    [
        ([0, 1], f"{PARTS} --seed 0 --seed 1 --data data/bbc-news"),
        ([], "zoo bench --data data/bbc-news"),
    ],
    ids=["trained", "cost alone"],
)
def test_a_rows_command_repeats_all_its_seeds(seeds, shown):
    records = [r for r in large_run(cells=1, seeds=5) if r.kind == "cost" or r.seed in seeds]
    assert row_command(make_rows(records)[0]) == shown


def test_environments_are_there_once_with_every_value():
    records = large_run(cells=2, seeds=3, failures=False)
    other = {**records[0].environment, "threads": 8}
    mixed = [records[0].model_copy(update={"environment": other}), *records[1:]]
    expected = {("torch", "2.13.0"), ("threads", "8; 2"), ("git dirty", "False")}
    assert environment_of([*mixed, mixed[0]]).items() >= expected
