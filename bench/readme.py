"""Put what is published into the README and docs/choosing.md: ``python -m bench.readme``."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from bench.docs.choosing import by_task, on_text
from bench.publish.claims import FOLDER, counts, judged
from bench.publish.markdown import code
from bench.publish.others import INVENTORY
from bench.publish.page import NOT_CURRENT
from bench.publish.published import published_profile
from bench.publish.questions import PROFILE, UNMEASURED, seeds_of
from zoo.errors import counted, listed
from zoo.report.claims import REFUTED
from zoo.report.tables.text import line

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
FILES = ("README.md", "docs/choosing.md")
BLOCK = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)
# Of the questions at the top of results/README.md, by their last words.
ASKED = ("on BBC news?", "than other libraries?")


def answers() -> str:
    """Some of the questions with their answers, as a list."""
    lines = (RESULTS / "README.md").read_text("utf-8").splitlines()
    answered = []
    for words in ASKED:
        (line,) = (line for line in lines if re.match(rf"\d+\. \*\*[^*]*{re.escape(words)}", line))
        answered.append(f"- {line.partition(' ')[2]}".replace("](", "](results/"))
    return "\n".join([f"- **Do published claims hold?** {published_claims()}", *answered])


def inventory() -> str:
    """How many parts there are, and how many of them other libraries have."""
    table = (RESULTS / INVENTORY / "table.md").read_text("utf-8").splitlines()
    heads, *_, last = [[cell.strip() for cell in row.strip("|").split("|")] for row in table]
    _, parts, *others, none = last
    libraries = ", ".join(f"{name} {n}" for name, n in zip(heads[2:-1], others, strict=True))
    return (
        f"- **What is there?** {parts} parts pass every check. Other libraries have some of them "
        f"({libraries}), and {none} are in none of these. [By name](results/{INVENTORY}/README.md)."
    )


def skills() -> str:
    """What follows from the picture for who chooses a part, in a few sentences."""
    profile = published_profile(RESULTS / PROFILE, ROOT / "bench" / "suites" / "diagnostics.toml")
    if profile is None or not profile.streamed:
        return UNMEASURED
    runs = [data.run for data in profile.streamed]
    cells = {row.name: row.cell for run in runs for row in run.rows}
    plain = cells[profile.reference]
    # Of each row: each skill that was measured, and whether every seed learned it.
    learned: dict[str, dict[str, bool]] = {name: {} for name in cells}
    faster: dict[str, list[str]] = {}  # than plain attention, told apart; the fastest first
    for data in profile.streamed:
        for name, each in data.run.learning.items():
            learned[name][data.name] = each.times_solved == each.runs
        names = [name for name, of in data.scores.items() if of["versus_reference"] == 1]
        faster[data.name] = sorted(names, key=lambda name: data.run.learning[name].order)

    def others(axis: str) -> dict[str, str]:
        """The rows with another part on one axis, and the part; those that learn most first."""
        names = [name for name, cell in cells.items() if cell[axis] != plain[axis]]
        if axis != "attention":  # mixers that take no rotation have another encoding too
            names = [name for name in names if cells[name]["attention"] == plain["attention"]]
        names.sort(key=lambda name: (-sum(learned[name].values()), name))
        return {name: code(cells[name][axis]) for name in names}

    def ranked(axis: str) -> str:
        whole = [name for name in others(axis) if len(learned[name]) == len(runs)]
        return listed([f"{others(axis)[name]} {sum(learned[name].values())}" for name in whole])

    every = sorted(learned[profile.reference])
    own = [skill for skill in every if learned[profile.reference][skill]]
    lacks = [skill for skill in every if skill not in own]
    parts = others("attention")
    takers: dict[str, list[str]] = {}  # mixers that learn it to skills
    for skill in lacks:
        able = [parts[name] for name in faster[skill] if name in parts and learned[name][skill]]
        if able:
            takers.setdefault(listed(able, link="or"), []).append(skill)
    advice = "; ".join(f"for {listed(of)} take {mixers}" for mixers, of in takers.items())
    sentences = [
        f"Plain attention, {code(plain['attention'])}, with {code(plain['pe'])} learns {len(own)} "
        f"of {len(every)} skills with each of {seeds_of(runs)}; the others are {listed(lacks)}.",
        f"{advice[:1].upper()}{advice[1:]}." if advice else "",
        f"Other mixers learn: {ranked('attention')}.",
        f"With other encodings attention learns: {ranked('pe')}.",
    ]
    return " ".join(filter(None, sentences))


def published_claims() -> str:
    """How many published claims hold here, and which surely do not."""
    judgements = judged(RESULTS)
    refuted = [judgement for judgement in judgements.values() if judgement.verdict == REFUTED]
    surest = [line(j.claim.statement).rstrip(".") for j in sorted(refuted, key=lambda j: j.p)[:3]]
    which = "The surest of those that did not" if refuted[3:] else "Those that did not"
    unlike = f" {which}: {'; '.join(f'“{said}”' for said in surest)}." if refuted else ""
    return f"{counts(judgements)}{unlike} [All](results/{FOLDER}/README.md)."


MAKERS: dict[str, Callable[[], str]] = {
    "answers": answers,
    "inventory": inventory,
    "skills": skills,
    "tasks": by_task,
    "texts": on_text,
}


def outdated(text: str, folder: Path) -> str:
    """A sentence on the pages that a block links to which are not current; empty where all are.

    folder: what the links are relative to.
    """
    pages = set(re.findall(r"\]\(([^)#]*README\.md)\)", text))
    old = [page for page in pages if f"\n{NOT_CURRENT}" in (folder / page).read_text("utf-8")]
    if not old:
        return ""
    of = counted(len(pages), "page")
    return (
        f"\n\n{NOT_CURRENT} {len(old)} of {of} linked here. Code has changed since they were "
        "measured, and today's numbers may differ; each says of which rows."
    )


def filled(text: str, folder: Path) -> str:
    """A page in a folder with all of its blocks made again."""

    def block(match: re.Match[str]) -> str:
        made = MAKERS[match[2]]()
        return f"{match[1]}{made}{outdated(made, folder)}\n{match[3]}"

    return BLOCK.sub(block, text)


def main() -> None:
    for name in FILES:
        file = ROOT / name
        file.write_text(filled(file.read_text("utf-8"), file.parent), "utf-8")


if __name__ == "__main__":
    main()
