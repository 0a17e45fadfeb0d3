"""The page as a document: valid, self-contained and small; text from records is not markup."""

import base64
import functools
import hashlib
import re

import html5lib
import pytest
from example import run
from factory import cell, skipped, with_config
from hostile import ARABIC_SHOWN, CLOSING, EMOJI, QUOTES, SCRIPT
from large_run import large_run
from rendered import render, rendered

from zoo.report.html.report_page import report_page
from zoo.report.run_report import RunReport

XHTML = "{http://www.w3.org/1999/xhtml}"


@functools.cache
def parsed(page):
    """The document, by a parser that stops at the first thing the standard calls an error."""
    return html5lib.HTMLParser(strict=True).parse(page)


def texts(tree, tag, **attributes):
    found = tree.iter(f"{XHTML}{tag}")
    return [
        " ".join("".join(e.itertext()).split())
        for e in found
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
    assert "default-src 'none'" in small


def test_its_policy_allows_its_own_script_and_no_other(small):
    """So a handler that got into an attribute would not run."""
    (script,) = re.findall("<script>(.*?)</script>", small, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src &#39;sha256-{digest}&#39;;" in small


def test_failed_and_skipped_cells_have_their_reasons(small):
    reasons = texts(parsed(small), "p", **{"class": "warning"})
    assert "skipped: fused takes no rotary encoding" in reasons
    assert any(r.startswith("seed 0, 1, 2: oom: CUDA out of memory") for r in reasons)
    assert any(r.startswith("seed 1: diverged: loss is no number") for r in reasons)


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
    assert any("why not" in row for row in texts(tree, "p"))


def test_a_page_is_called_like_its_run_and_says_what_differs_in_it():
    records = large_run(cells=15, seeds=3)
    run = RunReport([*records[:-1], *with_config(records[-1:], "training", epochs=12)])
    named = parsed(report_page(run, [], "tuesday's <run>"))
    assert texts(named, "h1") == ["tuesday's <run>"]
    assert any("training.epochs: 6, 12" in note for note in texts(named, "li"))
    unnamed = parsed(report_page(RunReport(records), []))
    (title,) = texts(unnamed, "h1")
    assert re.fullmatch(r"\w+, \w+, \w+ and 2 more × \w+, \w+ and \w+ on bbc-news", title), title
    assert "training.epochs: 6, 12" not in texts(unnamed, "li")
    (summary,) = texts(unnamed, "p", id="about")
    assert summary == (
        "15 cells and 1 baseline, 2026-11-20. Data: bbc-news "
        "(baf54e518248), 1172 training and 500 test documents, 53 in both (dropped from training). "
        "Model: 2 layers, width 64, 4 heads, 64 tokens, 6 epochs. Machine: a machine, 2 threads, "
        "torch 2.13.0, fp32."
    )
