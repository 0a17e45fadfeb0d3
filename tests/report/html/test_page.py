"""The page as a document: valid, self-contained and small; text from records is not markup."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re

import html5lib
import numpy as np
import pytest
from example import run
from factory import CLASSIFY, LM, cell, skipped
from hostile import ARABIC, ARABIC_SHOWN, CLOSING, EMOJI, QUOTES, SCRIPT
from hostile import LABELS as HOSTILE_LABELS
from large_run import LABELS, large_run
from rendered import render, rendered
from sklearn.metrics import precision_recall_fscore_support

from zoo.report.html.page_data import environment_of, lines_of, row_command, tints_of
from zoo.report.html.report_page import report_page
from zoo.report.rows import class_scores, make_rows
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


def embedded(tree):
    (script,) = [e for e in tree.iter(f"{XHTML}script") if e.get("id") == "data"]
    return json.loads(script.text)


@pytest.fixture
def large():
    return rendered("large").page


def test_a_hundred_cells_of_five_seeds_are_valid_html_under_two_megabytes(large):
    assert len(large.encode()) < 2_000_000
    tree = parsed(large)
    assert len(list(results_of(tree).find(f"{XHTML}tbody"))) == 101


def test_ids_are_unique_and_every_label_and_link_has_its_target(large):
    tree = parsed(large)
    ids = [e.get("id") for e in tree.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    wanted = {e.get("for") for e in tree.iter(f"{XHTML}label")} - {None}
    wanted |= {e.get("href")[1:] for e in tree.iter(f"{XHTML}a")}
    wanted |= {e.get(a) for e in tree.iter() for a in ("aria-labelledby", "aria-describedby")}
    assert wanted - {None} <= set(ids)


def test_it_needs_no_network_and_no_other_file(large):
    for element in parsed(large).iter():
        for name, value in element.attrib.items():
            if str(name).endswith(("href", "src", "data")) and not str(name).startswith("data-"):
                assert value.startswith("#"), (element.tag, value)
            assert "url(" not in value or "url(#" in value
    assert "@import" not in large
    assert "default-src 'none'" in large


def test_its_policy_allows_its_own_script_and_no_other(large):
    """So a handler that got into an attribute would not run."""
    (script,) = re.findall("<script>(.*?)</script>", large, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src &#39;sha256-{digest}&#39;;" in large


def test_heads_are_buttons_that_say_how_they_sort(large):
    tree = parsed(large)
    heads = list(results_of(tree).find(f"{XHTML}thead").iter(f"{XHTML}th"))
    assert all(h.get("aria-sort") == "none" and h.get("scope") == "col" for h in heads)
    assert [h.find(f"{XHTML}button") is not None for h in heads] == [True] * len(heads)
    first = {t: b.get("data-first") for h in heads for b in h for t in ["".join(b.itertext())]}
    assert first["accuracy"] == "descending"
    assert first["memory MiB"] == "ascending"


def test_the_run_and_its_result_are_sentences():
    tree = parsed(render(large_run(cells=15), plots=False).page)
    (summary,) = texts(tree, "p", id="run")
    assert summary == (
        "15 cells (of 5 pe × 3 norm) and 1 baseline, 2026-11-20. Data: bbc-news "
        "(679a134ccd27), 1172 training and 500 test documents, 53 in both (dropped from training). "
        "Model: 2 layers, width 64, 4 heads, 256 tokens; 6 epochs. Machine: a machine, 2 threads, "
        "torch 2.13.0+cpu, fp32."
    )
    (outcome,) = texts(tree, "div", id="outcome")
    assert re.search(
        r"\S+ has the best accuracy of the cells: 0\.9\d\d ± 0\.0\d\d; \d+ others tie", outcome
    )
    assert re.search(r"the baseline tfidf-logreg with 0\.9\d\d\W", outcome)


def test_failed_and_skipped_cells_have_their_reasons(large):
    rows = [" ".join(row.split()) for row in texts(parsed(large), "tr")]
    assert any("skipped" in r and "fused takes no rotary encoding" in r for r in rows)
    assert any("seed 0, 1, 2, 3, 4" in r and "oom" in r and "CUDA out of memory" in r for r in rows)
    assert any("seed 1" in r and "diverged" in r and "loss is no number" in r for r in rows)


def test_hostile_texts_are_text():
    page = rendered("hostile").page
    tree = parsed(page)
    scripts = list(tree.iter(f"{XHTML}script"))
    assert [s.get("type") for s in scripts] == ["application/json", None]
    assert not list(tree.iter(f"{XHTML}img"))
    assert not [name for e in tree.iter() for name in e.attrib if str(name).startswith("on")]
    shown = texts(tree, "bdi")
    for text in (SCRIPT, CLOSING, QUOTES, ARABIC_SHOWN, EMOJI):
        assert any(text in part for part in shown), text
    assert "49" not in " ".join(part for part in shown if "7*7" in part), "a template was run"
    labels = [ARABIC_SHOWN if label == ARABIC else label for label in HOSTILE_LABELS]
    assert embedded(tree)["labels"] == labels
    assert "\u202e" not in page, "no name changes the direction of the page's own words"
    assert not any("\u202e" in row["summary"] for row in embedded(tree)["rows"])
    assert "a b c d e" not in page
    assert any("abc d e" in part for part in shown), "control characters are left out"
    assert CLOSING in texts(tree, "td")


def test_the_same_records_give_the_same_page():
    records = large_run(cells=6, seeds=3)
    pages = [render(r, plots=False).page for r in (records, [r.model_copy() for r in records])]
    assert pages[0] == pages[1]


def test_precision_recall_and_f1_are_those_of_scikit_learn():
    draw = np.random.default_rng(3)
    confusions = draw.integers(0, 9, (4, 3, 3))
    confusions[:, :, 2] = 0  # a class that is never predicted
    expected = []
    for matrix in confusions:
        pairs = [(i, j) for (i, j), n in np.ndenumerate(matrix) for _ in range(n)]
        truth, answer = zip(*pairs, strict=True)
        scores = precision_recall_fscore_support(truth, answer, labels=[0, 1, 2], zero_division=0)
        expected.append(np.stack(scores[:3], axis=-1))
    np.testing.assert_allclose(class_scores(confusions), expected, atol=1e-12)


def test_details_hold_the_numbers_of_the_records():
    made = rendered("small")
    data = embedded(parsed(made.page))
    assert data["labels"] == LABELS
    for row, details in zip(made.run.rows, data["rows"], strict=True):
        matrices = [record.metrics["confusion"] for record in row.trained.values()]
        if not matrices:
            assert not details["seeds"]
            continue
        total = np.zeros((5, 5), dtype=int)
        for i, j, count in details["confusions"]:
            total[i, j] = count
        np.testing.assert_array_equal(total, np.sum(matrices, axis=0))
        assert details["seeds"] == [[str(s), f"{v:.3f}"] for s, v in row.values.items()]


def test_of_many_classes_the_largest_confusions_are_shown():
    labels = [f"class {i}" for i in range(60)]
    records = large_run(cells=2, seeds=2, labels=labels, examples=3000)
    data = embedded(parsed(render(records, plots=False).page))
    counts = [count for _, _, count in data["rows"][0]["confusions"]]
    assert data["rows"][0]["cut"]
    assert counts == sorted(counts, reverse=True)
    assert len(counts) == 40
    assert all(i != j for i, j, _ in data["rows"][0]["confusions"])


@pytest.mark.parametrize(
    ("seeds", "options"), [([0, 1, 2], "--seeds 3"), ([1, 4], "--seed 1 --seed 4")]
)
def test_a_rows_command_repeats_all_its_seeds(seeds, options):
    records = [r for r in large_run(cells=1, seeds=5) if r.kind == "cost" or r.seed in seeds]
    row = make_rows(records)[0]
    assert (
        row_command(row) == f"zoo bench --attention fused --pe rope {options} --data data/bbc-news"
    )


def test_a_command_that_a_shell_cannot_parse_is_shown_unchanged():
    first = large_run(cells=1, seeds=1)[0].model_copy(
        update={"command": "zoo bench --attention 'x"}
    )
    assert row_command(make_rows([first])[0]) == "zoo bench --attention 'x"


def test_a_run_without_costs_curves_or_any_success_has_a_page():
    for records in (run(seeds=1, baseline=False)[:2], [skipped(cell(), "why not")]):
        tree = parsed(render(records).page)
        assert len(texts(tree, "h1")) == 1
    assert any("why not" in row for row in texts(tree, "td"))


def test_another_task_has_its_own_metric_and_direction():
    records = []
    for record in large_run(cells=6, seeds=3, failures=False):
        fields = {"config": record.config | {"task": "lm"}, "metric_descriptions": LM}
        if record.kind == "train":
            bits = 4 - 2 * record.metrics["accuracy"]
            fields["metrics"] = {"params": 9, "bits_per_byte": bits, "nats": 2 * bits}
            loss_alone = [{k: v for k, v in s.items() if k != "accuracy"} for s in record.curve]
            fields["curve"] = loss_alone
        records.append(record.model_copy(update=fields))
    made = render(records)
    plots = {name: plot.svg for name, plot in made.plots.items()}
    tree = parsed(made.page)
    cells = [row for row in made.run.rows if not row.baseline]
    best = min(cells, key=lambda row: np.mean([*row.values.values()]))
    (outcome,) = texts(tree, "div", id="outcome")
    # A baseline has the best score of all.
    assert f"{made.run.short_name(best)} has the best bits/byte of the cells: 2." in outcome
    heads = list(results_of(tree).find(f"{XHTML}thead").iter(f"{XHTML}button"))
    first = {"".join(b.itertext()): b.get("data-first") for b in heads}
    assert first["bits/byte"] == "ascending"
    assert "accuracy" not in " ".join(texts(tree, "p") + texts(tree, "h3"))
    assert "bits/byte (lower is better)" in plots["pareto-speed"]
    assert "bits/byte, bits per byte" in plots["effects"]
    assert "Bits/byte against memory" in plots["pareto-memory"]
    assert "accuracy" not in plots["epochs"]
    assert not embedded(tree)["rows"][0].get("classes")


def test_differing_settings_are_listed():
    records = large_run(cells=2, seeds=3)
    longer = records[0].config | {"training": {"epochs": 12, "batch_size": 32, "lr": 0.003}}
    mixed = [*records[:-1], records[-1].model_copy(update={"config": longer})]
    items = texts(parsed(render(mixed, plots=False).page), "li")
    assert "training.epochs: 6, 12" in items
    assert "training.epochs: 6, 12" not in texts(parsed(render(records, plots=False).page), "li")


def test_a_deterministic_fit_is_one_value_and_its_errors_count_once():
    records = large_run(cells=3, seeds=3, examples=200)
    marked = [
        r.model_copy(update={"metrics": {**r.metrics, "deterministic": True}})
        if r.baseline and r.kind == "train"
        else r
        for r in records
        if not r.baseline or not r.seed  # one fit for all three seeds
    ]
    made = render(marked, plots=False)
    assert "deterministic fit" in " ".join(texts(results_of(parsed(made.page)), "td"))
    row = embedded(parsed(made.page))["rows"][-1]
    ((seed, value),) = row["seeds"]
    assert seed == "any: a deterministic fit"
    assert f"{value} (deterministic fit)" in row["summary"]
    assert sum(row["examples"]) == 200


def test_a_page_is_called_like_its_run():
    run = render(large_run(cells=15), plots=False).run
    (named,) = texts(parsed(report_page(run, [], "tuesday's <run>")), "h1")
    assert named == "tuesday's <run>"
    (unnamed,) = texts(parsed(report_page(run, [])), "h1")
    assert unnamed == "bbc-news: 15 cells (of 5 pe × 3 norm), 2026-11-20"


def test_environments_are_told_once_with_every_value():
    records = large_run(cells=2, seeds=3, failures=False)
    other = {**records[0].environment, "threads": 8}
    mixed = [records[0].model_copy(update={"environment": other}), *records[1:]]
    assert environment_of(RunReport(mixed)).items() >= {
        ("torch", "2.13.0+cpu"),
        ("threads", "8; 2"),
    }
    assert environment_of(RunReport(records))["threads"] == "2"


def test_a_metric_may_be_called_like_another_column():
    """Numbers are looked up by their key, whatever is printed above them."""
    named = [
        metric.model_copy(update={"label": label})
        for metric, label in zip(CLASSIFY, ("seeds", "memory MiB"), strict=True)
    ]
    records = [
        record.model_copy(update={"metric_descriptions": tuple(named)})
        for record in large_run(cells=3, seeds=3, failures=False)
    ]
    made = render(records, plots=False)
    run = made.run
    keys = list(run.columns)
    for line, row, values in zip(lines_of(run), run.rows, run.lines, strict=True):
        cells = dict(zip(keys, line["cells"], strict=True))
        assert float(cells["accuracy_mean"]["key"]) == np.mean([*row.values.values()])
        assert float(cells["seeds"]["key"]) == len(row.values)
        if not row.baseline:
            assert float(cells["peak_memory_mib"]["key"]) == values["peak_memory_mib"]
            assert run.describe(run.position[row.name]).count("memory MiB") == 1
    best = f"{run.short_name(run.rows[0])} has the best {run.metric.label} of the cells"
    assert f"{best}: {run.columns['accuracy_mean'].values[0]}" in " ".join(run.answer)


def test_tinted_rows_are_those_that_the_answer_tells_apart():
    made = RunReport(run())
    classes = {line["name"]: line["classes"] for line in lines_of(made)}
    assert made.verdicts.tied() == [
        row.name for row in made.rows if row.cell.get("pe") in ("rope", "sin")
    ]
    assert classes == {"rope": "", "sin": "", "none": "worse", "words": "better"}
    assert "differ significantly from the best cell, rope: blue" in tints_of(made)
    few = RunReport(run(seeds=2))
    assert {line["classes"] for line in lines_of(few)} == {""}
    assert tints_of(few) == ""
