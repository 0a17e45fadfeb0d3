"""Ten questions of visitors, each answered in one sentence from the published records."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.peers.table import verdict_sentence
from bench.publish.claims import FOLDER
from bench.publish.markdown import code, link
from zoo.errors import counted, listed
from zoo.report.claims import Judgement
from zoo.report.profile import DataSetReport, Profile
from zoo.report.rows import ReportRow
from zoo.report.run_report import RunReport
from zoo.report.stats.effects import Effect, sentence
from zoo.report.stats.learning import thousands

TITLE = "Ten questions"
UNMEASURED = "Not measured yet."


@dataclass(frozen=True)
class Question:
    """place: the published directory that answers it. answer: makes the sentence of what is there.

    That is a report of one data set, the profile of several, or else the directory. claims: names
    of published claims that say more.
    """

    text: str
    place: str
    answer: Callable[[Any], str]
    claims: tuple[str, ...] = ()


def questions_section(
    reports: Mapping[str, RunReport | Profile],
    source: Path,
    judgements: Mapping[str, Judgement],
) -> list[str]:
    """The questions with their answers, as Markdown.

    reports: by place. judgements: of the published claims, by name.
    """
    lines = []
    for number, question in enumerate(QUESTIONS, start=1):
        place, said, to = question.place, UNMEASURED, ""
        if place in reports or (source / place).exists():
            said = question.answer(reports.get(place, source / place))
            to = f" {link('Table', f'{place}/README.md')}."
        known = [f"{code(c)}: {judgements[c].verdict}" for c in question.claims if c in judgements]
        if known:
            page = link("Claims", f"{FOLDER}/README.md")
            to += f" {page}, on data of their own, {'; '.join(known)}."
        lines.append(f"{number}. **{question.text}** {said}{to}")
    return [f"## {TITLE}", "\n".join(lines)]


def _of_axis(run: RunReport, axis: str) -> dict[str, ReportRow]:
    """The choices on an axis, with all else as in the reference."""
    base = run.reference_row
    rest = {name: choice for name, choice in base.cell.items() if name != axis} if base else {}
    cells = [row for row in run.rows if not row.baseline and rest.items() <= row.cell.items()]
    return {row.cell[axis]: row for row in cells if row.values}


def _alone(run: RunReport, axis: str) -> dict[str, ReportRow]:
    """The choices on an axis that one row has, as those that take no encoding."""
    cells = [row for row in run.rows if not row.baseline and row.values]
    counts = Counter(row.cell[axis] for row in cells)
    return {row.cell[axis]: row for row in cells if counts[row.cell[axis]] == 1}


def _of_group(row: ReportRow, group: str) -> dict[int, float]:
    """Seed to the value of the ranking metric over the test examples of one group."""
    of = {s: r.metrics.get("groups", {}).get(group, {}) for s, r in row.trained.items()}
    values = {seed: metrics.get(row.metric.name) for seed, metrics in of.items()}
    return {seed: float(value) for seed, value in values.items() if value is not None}


def _data_set(data_sets: Sequence[DataSetReport], task: str) -> DataSetReport | None:
    """The first of a name, with any parameters."""
    return next((data for data in data_sets if data.name.partition("(")[0] == task), None)


def seeds_of(runs: Iterable[RunReport]) -> str:
    """How many seeds the rows of streamed diagnostics have: ``3 seeds``, ``3 to 6 seeds``."""
    of = [each.runs for run in runs for each in run.learning.values()] or [0]
    few, many = min(of), max(of)
    return f"{few} to {many} seeds" if few < many else counted(many, "seed")


def learning(task: str, axis: str) -> Callable[[Profile], str]:
    """Which choices learn a streamed diagnostic, the fastest first, and which do not.

    task: with any parameters.
    """

    def answer(profile: Profile) -> str:
        if (data := _data_set(profile.streamed, task)) is None:
            return UNMEASURED
        run, by_lead = data.run, dict[str, list[str]]()
        rows = _alone(run, axis) | _of_axis(run, axis)
        for choice, row in sorted(rows.items(), key=lambda known: run.rows.index(known[1])):
            if not (own := run.learning.get(row.name)):
                continue
            if own.times_solved == own.runs and own.median is not None:
                lead, more = "in every seed", f" ({thousands(own.median)} examples)"
            elif own.times_solved:
                lead, more = "in some", f" ({own.times_solved} of {own.runs})"
            else:
                lead, more = "in none", ""
            by_lead.setdefault(lead, []).append(f"{code(choice)}{more}")
        leads = [lead for lead in ("in every seed", "in some", "in none") if lead in by_lead]
        parts = [f"{lead} by {listed(by_lead[lead])}" for lead in leads]
        said = f"{code(data.name)} ({seeds_of([run])}) is learned {'; '.join(parts)}."
        return said if parts else UNMEASURED

    return answer


def longer(task: str, axis: str, group: str) -> Callable[[Profile], str]:
    """What the choices score on the test texts of one group, the best first."""

    def answer(profile: Profile) -> str:
        data = _data_set(profile.data_sets, task)
        rows = {c: _of_group(r, group) for c, r in _of_axis(data.run, axis).items()} if data else {}
        medians = {choice: statistics.median(of.values()) for choice, of in rows.items() if of}
        if data is None or not medians:
            return UNMEASURED
        metric = data.run.metric
        order = sorted(medians, key=lambda choice: -metric.better(medians[choice]))
        said = listed([f"{code(choice)} {metric.format(medians[choice])}" for choice in order])
        seeds = max(len(of) for of in rows.values())
        return (
            f"{metric.label.capitalize()} of {code(data.name)} at {group} words, median of "
            f"{counted(seeds, 'seed')}, not tested: {said}."
        )

    return answer


def best_of(axis: str) -> Callable[[RunReport], str]:
    """Which choice on an axis is the best, and which are worse."""

    def answer(run: RunReport) -> str:
        rows, better = _of_axis(run, axis), run.metric.better
        if not rows:
            return UNMEASURED
        best = max(rows, key=lambda choice: better(rows[choice].mean))
        score = f"{code(best)} has the best {run.metric.label}, {run.score_text(rows[best].name)}"
        verdicts = {c: run.verdicts.verdict(r.name, rows[best].name) for c, r in rows.items()}
        worse = [code(choice) for choice, verdict in verdicts.items() if verdict == -1]
        tied = [code(c) for c, verdict in verdicts.items() if verdict == 0 and c != best]
        if not worse:
            return f"Undecided: {score}, and no other is significantly worse."
        rest = f"; {listed(tied)} cannot be told apart from it" if tied else ""
        return f"{score}: significantly better than {listed(worse)}{rest}."

    return answer


def _effect(run: RunReport, axis: str, part: str, other: str) -> Effect | None:
    """Of one choice compared with the other, whichever of them is the reference's."""
    for effect in run.effects.main if run.effects else []:
        if effect.axis == axis and {effect.component, effect.against} == {part, other}:
            if effect.component == part:
                return effect
            weights = {name: -weight for name, weight in effect.weights.items()}
            return run.estimated(replace(effect, component=part, against=other, weights=weights))
    return None


def _said(effect: Effect) -> str:
    return sentence(effect, code).replace(" points", f" points of {effect.metric.label}", 1)


def whether(better: bool, axis: str, part: str, other: str) -> Callable[[RunReport], str]:
    """Whether one choice is better, or else worse, than another one."""

    def answer(run: RunReport) -> str:
        effect = _effect(run, axis, part, other)
        if effect is None or (difference := effect.difference) is None:
            return UNMEASURED
        if difference.equal:
            return f"No, they are equal: {_said(effect)}."
        if not difference.real:
            gap = run.verdicts.visible("effect")
            seen = run.metric.format_size(gap) if gap else ""
            more = f"; {seen} would have shown in 4 of 5 such runs" if seen else ""
            return f"Undecided: {_said(effect)}{more}."
        yes = (run.metric.better(difference.mean) > 0) == better
        return f"{'Yes' if yes else 'No, the contrary'}: {_said(effect)}."

    return answer


def costs_of(axis: str, part: str, other: str) -> Callable[[RunReport], str]:
    """What one choice costs and gains compared with another one."""

    def answer(run: RunReport) -> str:
        effect = _effect(run, axis, part, other)
        if effect is None:
            return UNMEASURED
        timed = "" if any(effect.speed.values()) else "; its speed is not measured yet"
        return f"{_said(effect)}{timed}."

    return answer


def beats_baselines(run: RunReport) -> str:
    cells, baselines = run.by_score(baseline=False), run.by_score(baseline=True)
    if not cells or not baselines:
        return UNMEASURED
    verdicts = [run.verdicts.verdict(row.name, baselines[0].name) for row in cells]
    better, worse = verdicts.count(1), verdicts.count(-1)
    cell, baseline = (
        f"{code(run.short_name(row))} with {run.score_text(row.name)}"
        for row in (cells[0], baselines[0])
    )
    many = better if better else worse
    verdict = "Yes" if better else "No" if worse == len(cells) else "Undecided"
    what = "better" if better else "worse"
    return (
        f"{verdict}: {many} of {counted(len(cells), 'cell')}, the best {cell}, are significantly "
        f"{what} than {baseline}."
    )


def beside_others(directory: Path) -> str:
    return verdict_sentence(directory / "lines.jsonl") or UNMEASURED


PROFILE, LENGTHS = "diagnostics/cpu/profile", "diagnostics/cpu/lengths"
GRID, ONE_FACTOR, MASKED = (f"bbc-news/cpu/{name}" for name in ("grid", "one-factor", "masked"))
LONGER = "101 to 200"  # words of a text
QUESTIONS = (
    Question("Which attentions learn to recall?", PROFILE, learning("recall", "attention")),
    Question("Which attentions learn to copy?", PROFILE, learning("copying", "attention")),
    Question("Which encodings learn the order of words?", PROFILE, learning("order", "pe")),
    Question(
        "Which encodings of a decoder work on longer texts?",
        LENGTHS,
        longer("noisy-recall", "pe", LONGER),
        ("alibi-longer", "nope-longer"),
    ),
    Question("Which attentions are best at hidden words?", MASKED, best_of("attention")),
    Question("Does a transformer beat a bag of words on BBC news?", GRID, beats_baselines),
    Question(
        "Is RMSNorm worse than LayerNorm?",
        ONE_FACTOR,
        whether(False, "norm", "rms", "layer"),
        ("rms-equal", "rms-cost"),
    ),
    Question(
        "Is SwiGLU better than GELU?",
        ONE_FACTOR,
        whether(True, "ffn", "swiglu", "gelu"),
        ("swiglu-better",),
    ),
    Question("What does rope cost?", GRID, costs_of("pe", "rope", "none"), ("rope-faster",)),
    Question("Is the zoo slower than other libraries?", "peers/cpu", beside_others),
)
