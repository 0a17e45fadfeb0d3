"""The page of comparisons with other libraries, as Markdown, from the lines that they wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.peers.table import as_markdown, summary
from bench.publish.markdown import link

PEERS = "peers"  # their folder among the published results; in it one for each machine
FILE = "lines.jsonl"
ABOUT = f"""\
# The zoo's models beside other libraries' models

Measured in short turns by `python -m bench.peers`. Both sides compute every position, have no
dropout, take the same batches in the same order, and use malloc in the same way. Both are given
equal weights and must give equal logits and gradients. How often such intervals hold the true ratio
is [simulated](../../simulations/README.md). The numbers: {link(FILE, FILE)}."""


def peers_places(source: Path) -> list[str]:
    """The folders of published comparisons, relative to the published directory."""
    files = sorted((source / PEERS).glob(f"*/{FILE}"))
    return [file.parent.relative_to(source).as_posix() for file in files]


def peers_page(directory: Path) -> str:
    """The page of one machine."""
    return f"{ABOUT}\n\n{comparisons(directory / FILE)}"


def comparisons(file: Path) -> str:
    """What they say in sentences, and their table."""
    parts = [summary(file).strip(), as_markdown(file).strip()]
    return "\n\n".join(filter(None, parts)) + "\n"


def peers_overview(source: Path, places: Sequence[str]) -> list[str]:
    """Their part of the overview."""
    if not places:
        return []
    parts = ["## Beside other libraries"]
    for place in places:
        to = link("Every comparison", f"{place}/README.md")
        parts.append(f"{summary(source / place / FILE).strip()} {to}, {Path(place).name}.")
    return parts
