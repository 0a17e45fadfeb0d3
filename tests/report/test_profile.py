"""The profile of a run on several data sets, and scores by group, from records made by hand."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import factory
import numpy as np
import pytest
from example import ACCURACIES, PES, grouped, records_of
from scipy import stats

from zoo.report.plots.heat import profile_plots, ranked_scores
from zoo.report.plots.plot import styled
from zoo.report.profile import DataSet, Profile, read_profile
from zoo.report.profile_text import MARKS, profile_answer, profile_notes
from zoo.report.run_report import RunReport
from zoo.report.tables.columns import group_table
from zoo.report.write import report_text, write_report, write_tables
from zoo.sweep.records import Record

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("profile")
    for name, accuracies in ACCURACIES.items():
        (root / name).mkdir()
        factory.write_records(root / name, records_of(name, accuracies))
    return root


@pytest.fixture(scope="module")
def profile(directory: Path) -> Profile:
    found = read_profile(directory)
    assert found is not None
    return found


def test_every_mean_is_in_the_table_and_chance_is_marked_where_a_score_is_not_above_it(
    profile: Profile,
) -> None:
    for name, accuracies in ACCURACIES.items():
        part = profile.table[profile.table["data"] == name].set_index("row")
        assert dict(part["mean"]) == pytest.approx(dict(zip(PES, accuracies, strict=True)))
        low = {"epsilon": ["none"], "zeta": list(PES)}.get(name, [])
        assert list(part.index[part["at_chance"]]) == low
    assert list(profile.names.values()) == ["rope", "sin", "none"], "the best row first"
    printed = report_text(profile)
    assert "0.500 c" in printed.replace("=c", "c")
    assert "(chance)" in printed
    notes = {data.name: " ".join(data.run.notes) for data in profile.data_sets}
    assert "Chance level of accuracy: 0.500; every row is better." in notes["alpha"]
    assert "0.500; not better than it: none." in notes["epsilon"]


def test_ties_are_those_of_each_data_sets_own_report(profile: Profile) -> None:
    for data in profile.data_sets:
        ranks = dict(
            zip((row.cell["pe"] for row in data.run.rows), data.run.table["rank"], strict=True)
        )
        for name, score in data.scores.items():
            pe = next(row.cell["pe"] for row in data.run.rows if row.name == name)
            assert score.best == (ranks[pe] == 1)
    alpha = next(data for data in profile.data_sets if data.name == "alpha")
    assert [score.best for score in alpha.scores.values()] == [True, False, False]


def simulated(name: str, worth: tuple[float, ...], examples: int, seeds: int = 5) -> DataSet:
    """A data set on which the cells have these log odds of being right."""
    odds = dict(zip(PES, worth, strict=True))
    records = factory.simulated(
        np.random.default_rng(examples), {"pe": PES}, lambda c: odds[c["pe"]],
        examples=examples, seeds=seeds,
    )  # fmt: skip
    return DataSet(name, name, RunReport(records))


def test_the_profile_says_what_its_data_sets_could_have_shown() -> None:
    worth = (3.0, 3.0, 1.5)
    sizes = {"small": 300, "middle": 1000, "large": 3000}
    found = [simulated(name, worth, examples) for name, examples in sizes.items()]
    gaps = {data.name: 100 * (data.run.verdicts.visible() or 0.0) for data in found}
    assert gaps["large"] < gaps["small"]
    few = simulated("few", worth, 300, seeds=2)
    profile = Profile([*found, few])
    (line,) = [line for line in profile_notes(profile) if "4 of 5" in line]
    ends = f"{gaps['large']:.1f} points (large) to {gaps['small']:.1f} points (small)"
    assert line.endswith(f"such runs: {ends}; not known on few.")
    assert line in report_text(profile)
    (line,) = [line for line in profile_notes(Profile(found[:1])) if "4 of 5" in line]
    assert line.endswith(f"such runs: {gaps['small']:.1f} points (small).")
    assert not any("4 of 5" in line for line in profile_notes(Profile([few])))


def test_only_marks_that_occur_are_explained(profile: Profile) -> None:
    """Five seeds far from chance, one that is at chance, and seeds too few for ranks."""

    def explained(profile: Profile) -> tuple[set[str], str]:
        with styled():
            about = next(profile_plots(profile)).about
        lines = profile_notes(profile)
        marks = {line.partition(":")[0] for line in lines if line.partition(":")[0] in MARKS}
        assert {mark for mark in MARKS if f"{mark}: " in about} == marks
        return marks, about

    data = {one.name: one for one in profile.data_sets}
    assert explained(profile)[0] == {"=", "c"}
    marks, about = explained(Profile([data["alpha"]]))
    assert marks == {"="}
    assert "worst row" not in about
    few = RunReport(records_of("few", (0.9, 0.8, 0.7), seeds=2))
    assert explained(Profile([DataSet("few", "few", few)]))[0] == set()
    assert "=" not in profile_notes(Profile([data["beta"]]))[-1]
    ties = Profile([simulated("ties", (3.0, 3.0, 1.5), 300)])
    assert profile_notes(ties)[-1].endswith("± is the interval of one alone.")


def tagged(pe: str, accuracy: float, effective: float | None, seed: int = 0) -> Record:
    metric = factory.BITS_PER_BYTE.model_copy(
        update={"name": "token_accuracy", "label": "token accuracy", "higher_is_better": True,
                "unit": "points", "scale": 100.0, "unit_digits": 1, "highest": 1.0}
    )  # fmt: skip
    metrics: dict[str, Any] = {"token_accuracy": accuracy, "examples": 1000, "texts": 20}
    if effective is not None:
        metrics["effective_examples"] = {"token_accuracy": effective}
    data = {**factory.CONFIG["data"], "chance": 0.5}
    return factory.record(
        "train",
        cell=factory.cell(pe=pe),
        seed=seed,
        config={**factory.CONFIG, "task": "tag", "data": data},
        metric_descriptions=(metric,),
        metrics=metrics,
    )


def test_with_one_seed_a_tagger_is_at_chance_by_its_error_over_texts() -> None:
    run = RunReport([tagged("rope", 0.55, 1000), tagged("sin", 0.55, 20), tagged("none", 0.45, 20)])
    profile = Profile([DataSet("recall", "recall", run)])
    found = {row.cell["pe"]: profile.data_sets[0].scores[row.name].at_chance for row in run.rows}
    assert found == {"rope": False, "sin": True, "none": True}
    notes = " ".join(run.notes)
    assert "0.500; not better than it: sin, none." in notes
    # Wilson's interval of 11 of 20: 0.342 to 0.742; of 9 of 20 as far.
    assert "may differ by up to 20.8 points (95%, Wilson; the tokens of one text are" in notes


def test_without_seeds_and_error_the_chance_level_is_not_judged() -> None:
    run = RunReport([tagged("rope", 0.55, None), tagged("none", 0.45, None)])
    profile = Profile([DataSet("recall", "recall", run)])
    found = {row.cell["pe"]: profile.data_sets[0].scores[row.name].at_chance for row in run.rows}
    assert found == {"rope": None, "none": True}
    notes = " ".join(run.notes)
    assert "not better than it: none; cannot be said of rope: neither an interval" in notes
    assert "0.550 c?" in report_text(profile)
    assert "c?: cannot be said" in report_text(profile)
    three = RunReport([tagged("rope", 0.55 + seed / 100, None, seed) for seed in range(3)])
    assert "every row is better" in " ".join(three.notes)


def test_the_answer_says_where_cells_differ_and_which_is_best_most_often(profile: Profile) -> None:
    answer = profile_answer(profile)
    assert answer[0].startswith("Cells differ on 6 of 6 data sets")
    # The best of zeta is not better than chance there.
    assert "rope (on 5 of 6 data sets)" in answer[1]
    assert "No cell is better than chance on zeta." in answer


def test_effects_are_those_of_each_data_set(profile: Profile) -> None:
    found = profile.effects["pe", "rope", "none"]
    for name, accuracies in ACCURACIES.items():
        difference = found[name].difference
        assert difference is not None
        assert difference.mean == pytest.approx(accuracies[0] - accuracies[2])


def test_the_critical_difference_is_of_the_ranks_of_friedmans_test(profile: Profile) -> None:
    scores = ranked_scores(profile)
    assert scores.shape == (6, 3)
    with styled():
        plots = {plot.name: plot for plot in profile_plots(profile)}
    expected = stats.friedmanchisquare(*zip(*ACCURACIES.values(), strict=True)).pvalue
    assert f"p = {expected:.2g}" in plots["critical-difference"].about
    marks = [
        e for e in ElementTree.fromstring(plots["profile"].svg).iter() if e.get("class") == "mark"
    ]
    titles = [mark.findtext(f"{SVG}title") for mark in marks]
    assert len(titles) == 18
    assert any("rope on alpha: accuracy 0.990" in title for title in titles)


def test_lower_is_better_is_turned_round() -> None:
    runs = [
        factory.record(
            "train",
            cell=factory.cell(pe=pe),
            seed=seed,
            metric_descriptions=factory.LM,
            metrics={"bits_per_byte": bits, "nats": bits},
        )
        for pe, bits in zip(PES, (2.0, 2.5, 3.0), strict=True)
        for seed in range(3)
    ]
    (data,) = Profile([DataSet("book", "book", RunReport(runs))]).data_sets
    levels = [data.scores[factory.name(pe=pe)].level for pe in PES]
    assert levels == pytest.approx([1.0, 0.5, 0.0])


def test_scores_by_group_are_a_curve_and_a_line_for_each_row(tmp_path: Path) -> None:
    curves: dict[str, Any] = {
        "rope": {"to 40": 1.0, "41 to 100": 0.9, "101 to 200": 0.7},
        "none": {"to 40": 0.8, "41 to 100": 0.6, "101 to 200": 0.5},
    }
    records = [
        grouped(factory.train_record(factory.cell(pe=pe), seed, 200 + seed), values)
        for pe, values in curves.items()
        for seed in range(3)
    ]
    run = RunReport(records)
    heads, lines = group_table(run)
    assert heads == ["row", *(f"{group} (100 documents)" for group in curves["rope"])]
    assert {name: scores for name, *scores in lines} == {
        pe: [f"{value:.3f} ± 0.000" for value in values.values()] for pe, values in curves.items()
    }
    write_report(run, tmp_path)
    texts = " ".join(ElementTree.parse(tmp_path / "plots" / "by-group.svg").getroot().itertext())
    assert all(group in texts for group in curves["rope"])
    for file in ("table.md", "report.html"):
        text = (tmp_path / file).read_text()
        assert "By group of test examples" in text
        assert "0.600 ± 0.000" in text
    write_tables(RunReport([factory.train_record(factory.cell(), 0, 200)]), tmp_path)
    assert "By group" not in (tmp_path / "table.md").read_text()
