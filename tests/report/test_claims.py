"""Verdicts on published claims, from records with known outcomes, and which claims are refused."""

import math
from pathlib import Path

import pytest
from factory import cell, cost_record, lm, name, record, streamed, with_config

from zoo.config.claim import Claim, load_claim
from zoo.errors import ZooError
from zoo.report.claims import judge
from zoo.report.run_report import RunReport

FUSED, LINEAR = cell(), cell(attention="linear")
ALL, NONE = [9600] * 8, [None] * 8


def learned(row, *seeds, rates=(1e-3, 1e-2), **more):
    """A row that is solved so at the second rate, and never at the first."""
    return streamed(row, {rates[0]: [None] * len(seeds), rates[1]: seeds}, **more)


def judged(records, *expects, seeds=8):
    table = {"paper": "A paper", "statement": "It is so.", "seeds": seeds, "expects": expects}
    runs = records if isinstance(records[0], list) else [records]
    return judge(Claim.model_validate(table), [RunReport(run) for run in runs])


def expect(kind, row="fused", **more):
    return {kind: row, **more}


@pytest.mark.parametrize(
    ("solved", "solves", "fails"),
    [
        (8, "holds here", "does not hold here"),
        (7, "holds here", "does not hold here"),  # Wilson: [.53, .98]
        (6, "undecided (19 seeds would decide it)", "undecided (19 seeds would decide it)"),
        (4, "undecided (more than 100 seeds would decide it)", None),
        (2, "undecided (19 seeds would decide it)", "undecided (19 seeds would decide it)"),
        (1, "does not hold here", "holds here"),
        (0, "does not hold here", "holds here"),
    ],
)
def test_most_seeds_solve_or_fail(solved, solves, fails):
    records = learned(FUSED, *[9600] * solved, *[None] * (8 - solved))
    assert judged(records, expect("solves")).verdict == solves
    assert judged(records, expect("fails")).verdict == (fails or solves)


def test_one_rate_is_judged_by_itself():
    records = learned(FUSED, *ALL)
    assert judged(records, expect("fails", lr=1e-3), expect("solves", lr=1e-2)).p < 0.01
    assert judged(records, expect("solves", lr=0.1)).verdict == "not finished (0 of 8 seeds)"


@pytest.mark.parametrize(
    ("fused", "linear", "by", "verdict"),
    [
        (ALL, NONE, None, "holds here"),
        (ALL, NONE, 50.0, "holds here"),  # it never solves: slower by any ratio
        (ALL, [19200] * 8, 1.5, "holds here"),
        (ALL, [11200] * 8, 10.0, "does not hold here"),  # faster, and not so much
        ([19200] * 8, ALL, None, "does not hold here"),
        ([9600, 19200] * 4, [19200, 9600] * 4, None, "undecided"),
        (NONE, NONE, None, "does not hold here"),  # nothing is fast that never solves
    ],
)
def test_one_row_needs_fewer_examples(fused, linear, by, verdict):
    records = learned(FUSED, *fused) + learned(LINEAR, *linear)
    expectation = expect("faster", than="linear", by=by)
    assert judged(records, expectation).verdict.startswith(verdict)


BITS = [2.0, 2.1, 1.9, 2.05, 1.95, 2.02, 1.98, 2.0]


@pytest.mark.parametrize(
    ("kind", "gap", "more", "verdict"),
    [
        ("better", 0.1, {}, "holds here"),
        ("better", 0.1, {"by": 0.05}, "holds here"),
        ("better", 0.1, {"by": 0.104}, "undecided"),  # seen, and less than that
        ("better", 0.1, {"by": 0.3}, "does not hold here"),
        ("better", -0.1, {}, "does not hold here"),
        ("better", 0.0, {}, "undecided"),
        ("equal", 0.02, {"within": 0.05}, "holds here"),
        ("equal", 0.2, {"within": 0.05}, "does not hold here"),
        ("equal", 0.05, {"within": 0.05}, "undecided"),
    ],
)
def test_scores_are_better_or_equal(kind, gap, more, verdict):
    noise = [0.01, -0.01, 0.008, -0.012, 0.011, -0.007, 0.009, -0.009]
    linear = [bits + gap + each for bits, each in zip(BITS, noise, strict=True)]
    records = lm(FUSED, BITS) + lm(LINEAR, linear)
    judgement = judged(records, expect(kind, than="linear", **more))
    assert judgement.verdict.startswith(verdict)
    assert judgement.seeds == 8
    with pytest.raises(ZooError, match="counts as solved"):
        judged(records, expect("solves"))


def test_rows_that_are_the_same_with_every_seed_are_equal():
    records = lm(FUSED, BITS) + lm(LINEAR, BITS)
    assert judged(records, expect("equal", than="linear", within=0.05)).verdict == "holds here"


def test_an_equality_is_two_one_sided_tests():
    scipy_stats = pytest.importorskip("scipy.stats")
    gaps = [0.01, -0.02, 0.015, 0.0, -0.005, 0.02, -0.01, 0.005]
    linear = [bits + gap for bits, gap in zip(BITS, gaps, strict=True)]
    expectation = expect("equal", than="linear", within=0.02)
    p = judged(lm(FUSED, BITS) + lm(LINEAR, linear), expectation).p
    tests = [
        scipy_stats.ttest_1samp(gaps, limit, alternative=side).pvalue
        for limit, side in ((0.02, "less"), (-0.02, "greater"))
    ]
    assert p == pytest.approx(max(tests))


@pytest.mark.parametrize(
    ("speed", "by", "verdict"),
    [
        (2.0, None, "holds here"),
        (2.0, 1.5, "holds here"),
        (2.0, 3.0, "does not hold here"),
        (0.5, None, "does not hold here"),
        (1.01, None, "undecided (more --set blocks would decide it)"),
    ],
)
def test_one_row_is_cheaper(speed, by, verdict):
    noise = [1.0, 1.01, 0.99] * 4
    fused, linear = name(), name(attention="linear")
    records = [
        cost_record(LINEAR, [1.0] * 12, linear),
        cost_record(FUSED, [speed * each for each in noise], linear),
    ]
    assert fused != linear
    assert judged(records, expect("cheaper", than="linear", by=by)).verdict == verdict


def test_a_claim_holds_if_all_its_predictions_do():
    records = learned(FUSED, *ALL) + learned(LINEAR, *[9600] * 5, *[None] * 3)
    both = judged(records, expect("solves"), expect("fails", "linear"))
    assert both.verdict.startswith("undecided")
    assert judged(records, expect("fails"), expect("fails", "linear")).verdict.startswith("does")
    assert both.p == max(finding.p for finding in both.findings)


def test_too_few_seeds_are_no_verdict():
    records = learned(FUSED, *ALL[:5])
    assert judged(records, expect("solves")).verdict == "not finished (5 of 8 seeds)"


def test_predictions_are_of_one_data_set_by_name_or_options():
    deep, shallow = (
        with_config(learned(FUSED, *of), "sizes", layers=layers)
        for layers, of in ((2, ALL), (1, NONE))
    )
    of_depth = [expect("solves", data={"layers": 2}), expect("fails", data={"layers": 1})]
    assert judged([deep, shallow], *of_depth).verdict == "holds here"
    with pytest.raises(ZooError, match="fused is in several data sets: say which with data"):
        judged([deep, shallow], expect("solves", data="copy"))
    recurrent = streamed(cell(attention="gru"), {1e-2: [19200] * 8})
    judgement = judged([deep, recurrent], expect("faster", than="gru"))  # each is in one alone
    assert judgement.verdict == "holds here"
    with pytest.raises(ZooError, match="no data set fits data = 'recall'; there is: copy"):
        judged([deep, shallow], expect("solves", data="recall"))


def test_a_group_of_test_texts_is_scored_at_the_best_rate():
    records = learned(FUSED, *ALL)
    groups = {"41 to 80": {"accuracy": 0.6, "macro_f1": 0.6}}
    records = [r.model_copy(update={"metrics": r.metrics | {"groups": groups}}) for r in records]
    longer = expect("fails", group="41 to 80")
    assert judged(records, expect("solves"), longer).verdict == "holds here"
    with pytest.raises(ZooError, match="no group 'to 40'; there is: 41 to 80"):
        judged(records, expect("fails", group="to 40"))


def test_minutes_are_of_all_records():
    records = [
        record("train", cell=FUSED, seed=seed, metrics={"accuracy": 1.0, "seconds": 30.0})
        for seed in range(8)
    ]
    assert math.isclose(judged(records, expect("better", than="fused")).minutes, 4.0)


SUITE = """
attention = "fused,linear"
data = "recall"

[claim]
paper = "Arora et al. 2024"
statement = "Attention recalls more."

[[claim.expects]]
faster = "fused"
than = "linear"
by = 2
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("paper =", "papers =", "has no key 'papers'; did you mean 'paper'?"),
        ("by = 2", "bye = 2", "expects.1: 'bye' has no effect with 'faster'; did you mean 'by'?"),
        ("by = 2", "by = -2", "expects.1.by: Input should be greater than 0"),
        ("by = 2", "within = 2", "expects.1: 'within' has no effect with 'faster'"),
        ("by = 2", 'group = "x"\nlr = 1', "expects.1: 'lr' has no effect with 'group'"),
        ('than = "linear"', "", "expects.1: 'faster' needs 'than'"),
        ("faster =", "quicker =", "expects.1: needs one of solves, fails"),
        ("by = 2", 'solves = "fused"', "expects.1: needs one of solves, fails"),
        ("[[claim.expects]]", "expects = [1]\n[[x]]", "expects.1: needs one of solves, fails"),
        ("[[claim.expects]]", "[claim.expects]", "it needs a table [claim] and [[claim.expects]]"),
    ],
)
def test_a_claim_that_is_wrong_is_refused_in_a_line(tmp_path: Path, old, new, said):
    file = tmp_path / "recall.toml"
    file.write_text(SUITE)
    assert load_claim(file).expects[0].by == 2
    file.write_text(SUITE.replace(old, new))
    with pytest.raises(ZooError) as refused:
        load_claim(file)
    assert said in str(refused.value)
    assert str(file) in str(refused.value)
