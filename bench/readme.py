"""Put what is published into the README and docs/choosing.md: ``python -m bench.readme``."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from bench.docs.choosing import by_task, on_text
from bench.publish.others import INVENTORY
from bench.publish.page import NOT_CURRENT
from zoo.errors import counted

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
    return "\n".join(answered)


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


MAKERS: dict[str, Callable[[], str]] = {
    "answers": answers,
    "inventory": inventory,
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
