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
from bench.publish.questions import PROFILE, UNMEASURED
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
    """What follows from the picture for who chooses a part, in up to five sentences."""
    profile = published_profile(RESULTS / PROFILE, ROOT / "bench" / "suites" / "diagnostics.toml")
    if profile is None or not profile.streamed:
        return UNMEASURED
    rows = {row.name: row for data in profile.streamed for row in data.run.rows}
    tried, solved = dict[str, set[str]](), dict[str, set[str]]()
    for data in profile.streamed:
        for name, learning in data.run.learning.items():
            always = learning.times_solved == learning.runs
            tried.setdefault(name, set()).add(data.name)
            solved.setdefault(name, set()).update({data.name} if always else ())
    every, own = {data.name for data in profile.streamed}, solved[profile.reference]
    plain = rows[profile.reference].cell
    seeds = max(each.runs for data in profile.streamed for each in data.run.learning.values())

    def choices(axis: str) -> dict[str, str]:
        """The rows with another part on one axis, those that learn most first."""
        order = sorted(rows, key=lambda name: (-len(solved[name]), name))
        # Mixers that take no rotation have another encoding too.
        alone = axis == "attention"
        wanted = (
            name
            for name in order
            if rows[name].cell[axis] != plain[axis]
            and (alone or rows[name].cell["attention"] == plain["attention"])
        )
        return {name: code(rows[name].cell[axis]) for name in wanted}

    def ranked(axis: str) -> str:
        whole = (item for item in choices(axis).items() if tried[item[0]] == every)
        return listed([f"{choice} {len(solved[name])}" for name, choice in whole])

    mixers = choices("attention")
    others = {s: [mixers[n] for n in mixers if s in solved[n]] for s in sorted(every)}
    hardest = sorted(own, key=lambda skill: (len(others[skill]), skill))[:2]
    beyond = [f"{skill}: {listed(others[skill])}" for skill in sorted(every - own) if others[skill]]
    sentences = [
        f"Attention with {code(plain['pe'])} learns {len(own)} of {len(every)} skills with each of "
        f"{counted(seeds, 'seed')}, and not {listed(sorted(every - own))}.",
        f"These take another mixer ({'; '.join(beyond)})." if beyond else "",
        f"In place of attention, with the same seeds: {ranked('attention')}.",
        *(f"Of these {listed(others[s]) or 'none'} can do {s}." for s in hardest[:1]),
        f"With another encoding attention learns: {ranked('pe')}.",
    ]
    return " ".join(filter(None, sentences))


def published_claims() -> str:
    """How many published claims hold here, and which do not."""
    judgements = judged(RESULTS)
    refuted = [j.claim.statement for j in judgements.values() if j.verdict == REFUTED]
    unlike = f" Not here: {' '.join(map(line, refuted[:3]))}" if refuted else ""
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
