"""Published claims on the order of two choices, each held against our results."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bench.publish.markdown import grid
from bench.publish.published import Claim
from zoo.errors import ZooError, counted
from zoo.report.profile import DataSet, Profile
from zoo.report.rows import Row, find_row
from zoo.report.run_report import RunReport
from zoo.report.stats.paired import Difference, judged, pairs_of, tested
from zoo.report.stats.scores import Scores, scores_of
from zoo.report.tables.text import code, line

HOLDS, NOT, UNKNOWN = "holds", "does not hold", "undecided"


def claims_section(profile: Profile, claims: Sequence[Claim]) -> list[str]:
    """The claims with our figures and verdicts, as Markdown; nothing without claims.

    Raises ZooError for a claim on a data set or a row that the run does not have.
    """
    if not claims:
        return []
    found = [(claim, *_verdict(profile, claim)) for claim in claims]
    verdicts = [verdict for _, verdict, _ in found]
    held, refuted, unknown = (verdicts.count(name) for name in (HOLDS, NOT, UNKNOWN))
    counts = f"held here {held}, not held {refuted}, undecided {unknown}"
    rows = [
        {
            "published": line(claim.text),
            "source": line(claim.source),
            "held against": f"{code(claim.better)} over {code(claim.worse)}, {code(claim.data)}"
            + (f", {line(claim.group)}" if claim.group else ""),
            "ours": ours,
            "verdict": verdict,
        }
        for claim, verdict, ours in found
    ]
    return [
        "## Published claims held against these results",
        f"{counted(len(claims), 'claim')} on the order of two choices: {counts}. A claim *holds* "
        "where the difference is significant here, in the same direction; it *does not hold* where "
        "it is significant in the other; otherwise it is undecided. A task that is solved or not "
        "decides nothing with fewer than 5 seeds. Tests have Holm's correction for all "
        "comparisons on the data set, ± is the interval of one. Tasks and models here are "
        "smaller than the published ones.",
        grid(rows),
    ]


def _verdict(profile: Profile, claim: Claim) -> tuple[str, str]:
    """The verdict on a claim, and both of our scores with their difference."""
    data = next((data for data in profile.data_sets if data.name == claim.data), None)
    if data is None:
        raise ZooError(f"[published] claim '{claim.text}': no data set '{claim.data}' in this run")
    better, worse = (_name(data, claim, wanted) for wanted in (claim.better, claim.worse))
    rows = [row for row in data.run.rows if row.name in (better, worse)]
    values = {row.name: _values(row, claim) for row in rows}
    if not all(values.values()):
        return UNKNOWN, "no score"
    means = [statistics.fmean(values[name].values()) for name in (better, worse)]
    metric = data.metric
    shown = " and ".join(metric.format(mean) for mean in means)
    found = _difference(data.run, better, worse, claim.group)
    if found is None:
        if data.run.goal is not None:
            solved = [data.run.solved(values[name].values()) for name in (better, worse)]
            shown += f", solved in {' and '.join(map(str, solved))} of {len(values[better])} seeds"
        return UNKNOWN, shown
    shown = f"{shown}: {metric.format_difference(found.mean, found.half)}"
    if not found.real:
        return UNKNOWN, shown
    return HOLDS if metric.better(found.mean) > 0 else NOT, shown


def _values(row: Row, claim: Claim) -> dict[int, float]:
    """Seed to the row's score on the claim's texts; ZooError where there is no such group."""
    if not claim.group:
        return row.values
    if row.values and claim.group not in row.groups:
        groups = ", ".join(f"'{name}'" for name in row.groups) or "no groups"
        raise ZooError(
            f"[published] claim '{claim.text}': no group '{claim.group}' on {claim.data}; "
            f"there is: {groups}"
        )
    return row.groups.get(claim.group, {})


def _difference(run: RunReport, better: str, worse: str, group: str) -> Difference | None:
    """The first row minus the second: the report's own, or that on a group of test texts.

    On a group every pair of ranked cells is tested, with Holm's correction over all of them.
    """
    if not group:
        found = run.verdicts.pair(better, worse)
        return found if run.verdicts.verdict(better, worse) is not None else None
    rows = [row for row in run.verdicts.rows if row.groups.get(group) and not row.baseline]
    names = [row.name for row in rows]
    if better not in names or worse not in names:
        return None
    pairs = list(itertools.combinations(range(len(rows)), 2))
    first, second = sorted((names.index(better), names.index(worse)))
    scores = _scores_of_group(rows, group)
    tests = judged(tested(scores, pairs_of(np.array(pairs), len(rows))))
    found = tests[pairs.index((first, second))]
    return found if names[first] == better else replace(found, mean=-found.mean)


def _scores_of_group(rows: Sequence[Row], group: str) -> Scores:
    """The scores of these rows on one group of test examples.

    The records list wrong examples of the whole test set only, so that tests assume the fewest
    disputes.
    """
    whole = scores_of(rows)
    of_row = [row.groups.get(group, {}) for row in rows]
    seeds = sorted({seed for row in rows for seed in row.values})
    values = np.array([[found.get(seed, np.nan) for seed in seeds] for found in of_row])
    examples = next((count for row in rows if (count := row.examples_of(group))), 0)
    return replace(
        whole,
        values=values.reshape(whole.values.shape),
        examples=examples if whole.examples else 0,
        counted=examples,
        listed=np.zeros_like(whole.listed),
    )


def _name(data: DataSet, claim: Claim, wanted: str) -> str:
    rows = list(data.run.rows)
    row = find_row(rows, wanted)
    if row is None:
        raise ZooError(f"[published] claim '{claim.text}': no row '{wanted}' on {data.name}")
    other = find_row([one for one in rows if one is not row], wanted)
    if other is not None:
        raise ZooError(
            f"[published] claim '{claim.text}': both {row.name} and {other.name} are '{wanted}'; "
            "name one, as 'fused+rope'"
        )
    return row.name
