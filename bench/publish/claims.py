"""``results/claims/README.md``: published claims, and whether they hold here."""

from __future__ import annotations

from pathlib import Path

from bench.publish.markdown import code, grid
from bench.publish.page import CURRENT, NOT_CURRENT
from zoo.cli.claim import claim_files
from zoo.config.claim import load_claim
from zoo.errors import counted, listed
from zoo.registry.loading import load
from zoo.report.claims import HOLDS, REFUTED, Judgement, judge
from zoo.report.stats.intervals import ALPHA
from zoo.report.stats.paired import holm
from zoo.report.tables.text import bullets, line
from zoo.report.write import read_result
from zoo.sweep.keys import stale_rows
from zoo.sweep.records import RecordFile, directories_of

FOLDER = "claims"
ABOUT = """\
# Published claims: what holds here

Each line is a statement of a paper, scaled down to a small run, with a prediction that was written
before the run ([how a verdict is made](../../docs/claims.md), and what was changed later).
*Effect*: what was seen, with its 95% interval, of each prediction. *p*: of all predictions of the
claim together, corrected by Holm's method for all claims on this page, and at least 1e-16; above
.05 the verdict stands for its claim alone. Where a claim asks for so many times or points, p is of
the test that there is no difference or, where less is seen, that there is as much as it asks for.
*Minutes*: of one core, at least 1."""
SMALLEST = 1e-16  # of a p: below it floats say nothing
UNLIKE = "## Where a run contradicts its paper"
LIMITS = "## Conditions of the other verdicts"


def judged(source: Path) -> dict[str, Judgement]:
    """The claims that have records in the published directory, by name."""
    judgements = {}
    for name, file in claim_files(load()).items():
        place = source / FOLDER / name
        if place.is_dir():
            judgements[name] = judge(load_claim(file), read_result(place).data_sets.values())
    return judgements


def currency(source: Path) -> str:
    """One line: that the verdicts are current, or the claims whose code has changed since."""
    stale = [
        place.name
        for place in sorted(source.joinpath(FOLDER).glob("*/"))
        if stale_rows(r for home in directories_of(place) for r in RecordFile(home).read())
    ]
    if not stale:
        return f"{CURRENT} no code that these verdicts depend on has changed since."
    return f"{NOT_CURRENT} code has changed since {listed(map(code, stale))} were measured."


def counts(judgements: dict[str, Judgement]) -> str:
    """How many hold here and how many do not, in a sentence."""
    verdicts = [judgement.verdict for judgement in judgements.values()]
    holds, refuted = verdicts.count(HOLDS), verdicts.count(REFUTED)
    rest = len(verdicts) - holds - refuted
    corrected = zip(verdicts, holm([j.p for j in judgements.values()]), strict=True)
    sure = sum(v in (HOLDS, REFUTED) and p is not None and p <= ALPHA for v, p in corrected)
    every = counted(len(claim_files(load())), "published claim")
    return (
        f"{every}, of which {len(verdicts)} have been run: {holds} held here, {refuted} did not, "
        f"{rest} undecided. After Holm's correction for all of them {sure} of these "
        f"{holds + refuted} verdicts remain."
    )


def claims_page(judgements: dict[str, Judgement], current: str = "") -> str:
    """The page, with those that hold first. current: a line on their code."""
    p = dict(zip(judgements, holm([j.p for j in judgements.values()]), strict=True))
    order = {HOLDS: 0, REFUTED: 1}
    ordered = sorted(judgements.items(), key=lambda item: order.get(item[1].verdict, 2))
    rows = [
        {
            "claim": line(judgement.claim.statement),
            "source": line(judgement.claim.source),
            "verdict": f"**{judgement.verdict}**",
            "effect": line("; ".join(finding.text for finding in judgement.findings)),
            "p": f"{max(p[name] or 0, SMALLEST):.2g}",
            "seeds": str(judgement.seeds or ""),
            "minutes": f"{max(judgement.minutes, 1):.0f}",
            "command": code(f"zoo claim {name}"),
        }
        for name, judgement in ordered
    ]
    unlike, rest = list[str](), list[str]()
    for name, judgement in ordered:
        claim = judgement.claim
        if judgement.verdict == REFUTED:
            unlike.append(f"{line(claim.statement)} {line(claim.conditions or claim.pitfalls)}")
        elif limits := " ".join(filter(None, (claim.pitfalls, claim.conditions))):
            rest.append(f"{code(name)}: {line(limits)}")
    last = [(UNLIKE, bullets(map(str.strip, unlike))), (LIMITS, bullets(rest))]
    more = [part for heading, text in last if text for part in (heading, text)]
    parts = [ABOUT, counts(judgements), current, grid(rows), *more]
    return "\n\n".join(filter(None, parts)) + "\n"
