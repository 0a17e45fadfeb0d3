"""Published claims on the order of two choices, each held against our results."""

from __future__ import annotations

from collections.abc import Sequence

from bench.publish.markdown import grid
from bench.publish.published import Claim
from zoo.errors import ZooError
from zoo.report.profile.profile import DataSet, Profile
from zoo.report.rows import find_row
from zoo.report.tables.text import code, counted, line

HOLDS, NOT, UNKNOWN = "holds", "does not hold", "undecided"


def claims_section(profile: Profile, claims: Sequence[Claim]) -> list[str]:
    """The claims with our figures and verdicts, as Markdown; nothing without claims.

    Raises ZooError for a claim on a data set or a row that the run does not have.
    """
    if not claims:
        return []
    found = [(claim, *_verdict(profile, claim)) for claim in claims]
    verdicts = [verdict for _, verdict, _ in found]
    counts = ", ".join(f"{verdicts.count(name)} {name}" for name in (HOLDS, NOT, UNKNOWN))
    rows = [
        {
            "published": line(claim.text),
            "source": line(claim.source),
            "held against": f"{code(claim.better)} over {code(claim.worse)}, {code(claim.data)}",
            "ours": ours,
            "verdict": verdict,
        }
        for claim, verdict, ours in found
    ]
    return [
        "## Published claims held against these results",
        f"{counted(len(claims), 'claim')} on the order of two choices: {counts}. A claim *holds* "
        "where the difference is significant here, in the same direction; it *does not hold* where "
        "it is significant in the other; otherwise it is undecided. Tasks and models here are "
        "smaller than the published ones.",
        grid(rows),
    ]


def _verdict(profile: Profile, claim: Claim) -> tuple[str, str]:
    """The verdict on a claim, and both of our scores with their difference."""
    data = next((data for data in profile.data_sets if data.name == claim.data), None)
    if data is None:
        raise ZooError(f"[published] claim '{claim.text}': no data set '{claim.data}' in this run")
    better, worse = (_name(data, claim, wanted) for wanted in (claim.better, claim.worse))
    metric, scores = data.metric, data.scores
    means = [scores[name].mean for name in (better, worse)]
    if None in means:
        return UNKNOWN, "no score"
    shown = " and ".join(metric.format(mean) for mean in means if mean is not None)
    difference = data.run.verdicts.pair(better, worse)
    if difference is None:
        return UNKNOWN, shown
    shown = f"{shown}: {metric.format_difference(difference.mean, difference.half)}"
    verdict = data.run.verdicts.verdict(better, worse)
    return {1: HOLDS, -1: NOT}.get(verdict or 0, UNKNOWN), shown


def _name(data: DataSet, claim: Claim, wanted: str) -> str:
    row = find_row(data.run.rows, wanted)
    if row is None:
        raise ZooError(f"[published] claim '{claim.text}': no row '{wanted}' on {data.name}")
    return row.name
