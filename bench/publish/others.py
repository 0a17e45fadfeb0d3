"""The published pages that are not of runs: single components, other libraries, simulations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench import inventory
from bench.commit import commit_sentence
from bench.components.timings import FILE, Timing, read
from bench.peers.table import as_markdown, summary
from bench.publish import claims
from bench.publish.markdown import code, grid, link
from bench.publish.page import PAGE
from bench.simulate.page import LINES, SIMULATIONS
from bench.simulate.page import page as simulation_page
from zoo.report.claims import Judgement
from zoo.report.write import write_file

# Folders among the published results; in the first two is one for each machine.
COMPONENTS, PEERS, INVENTORY = "components", "peers", "inventory"
PEERS_FILE = "lines.jsonl"
WAYS = ("forward", "backward")
COMPONENTS_ABOUT = """\
# Single components

Each part by itself, measured by `pytest bench --benchmark-only`: median seconds of a call with
gradients enabled, and of computing the gradients of its inputs and weights. Texts have between half
of the length and all of it. An encoding is timed in all its places (embeddings, queries, scores), a
block with fused attention, GELU and layer norms, a baseline whole. *IQR*: the widest interquartile
range of a row, as a share of its median. Parts are measured one after another and not in turns, so
that small differences mean nothing; how whole models compare is in the tables of runs."""
PEERS_ABOUT = f"""\
# The zoo's models beside other libraries' models

Measured in short turns by `python -m bench.peers`. Both sides compute every position, have no
dropout, take the same batches in the same order, and use malloc in the same way. Both are given
equal weights and must give equal logits and gradients. How often such intervals hold the true ratio
is [simulated](../../simulations/README.md). The numbers: {link(PEERS_FILE, PEERS_FILE)}."""
PARTS = f"Every part, and which other libraries have it: [by name]({INVENTORY}/{PAGE})."
# Studies made once, whose pages stay as they are, by folder: heading, and what is said there.
STUDIES = {
    "recipe": ("The default recipe", "What the default settings were chosen by"),
    "costs": ("Equal models", "How equal the costs of equal models are"),
}


def write_others(source: Path, out: Path, judgements: dict[str, Judgement]) -> list[str]:
    """Write these pages of the published directory; what its overview says of them.

    judgements: of the published claims, by name.
    """
    said: list[str] = []
    for place in _places(source, PEERS, PEERS_FILE):
        file = source / place / PEERS_FILE
        _write(out / place / PAGE, f"{PEERS_ABOUT}\n\n{comparisons(file)}")
        to = link("Every comparison", f"{place}/{PAGE}")
        said += ["## Beside other libraries"] if not said else []
        said.append(f"{summary(file).strip()} {to}, {Path(place).name}.")
    for place in _places(source, COMPONENTS, FILE):
        _write(out / place / PAGE, components_page(source / place))
        said += ["## Single components", components_link(source)]
    if (source / SIMULATIONS / LINES).exists():
        _write(out / SIMULATIONS / PAGE, simulation_page(source / SIMULATIONS / LINES))
    if (source / INVENTORY / inventory.FILE).exists():
        inventory.publish(source / INVENTORY, out / INVENTORY)
        said += ["## Inventory", PARTS]
    if judgements:
        _write(out / claims.FOLDER / PAGE, claims.claims_page(judgements, claims.currency(source)))
        to = link("each with its figures", f"{claims.FOLDER}/{PAGE}")
        said += ["## Published claims", f"{claims.counts(judgements)} They are {to}."]
    for folder, (heading, sentence) in STUDIES.items():
        if (source / folder / PAGE).exists():
            said += [f"## {heading}", f"{sentence}: {link('table', f'{folder}/{PAGE}')}."]
    return said


def _places(source: Path, folder: str, file: str) -> list[str]:
    """The folders of each machine, relative to the published directory."""
    files = sorted((source / folder).glob(f"*/{file}"))
    return [file.parent.relative_to(source).as_posix() for file in files]


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_file(file, text)


def comparisons(file: Path) -> str:
    """What comparisons with other libraries say in sentences, and their table."""
    parts = [summary(file).strip(), as_markdown(file).strip()]
    return "\n\n".join(filter(None, parts)) + "\n"


def components_page(directory: Path) -> str:
    """The timings of one machine."""
    environment, timings = read(directory)
    sizes = "; ".join(f"*{name}*: {shape}" for name, shape in environment.sizes.items())
    parts = [
        COMPONENTS_ABOUT,
        f"Sizes: {sizes}. Machine: {environment.machine}, {environment.threads} threads, torch "
        f"{environment.torch}. {commit_sentence([environment.commit])} Measured "
        f"{environment.measured}. The numbers: {link(FILE, FILE)}.",
    ]
    for kind in dict.fromkeys(timing.kind for timing in timings):
        own = sorted((t for t in timings if t.kind == kind), key=_total)
        parts += [f"## {kind}", grid([_row(timing, list(environment.sizes)) for timing in own])]
    return "\n\n".join(parts) + "\n"


def components_link(source: Path, above: str = "") -> str:
    """A sentence that leads to the timings; above: the path to the published directory."""
    places = _places(source, COMPONENTS, FILE)
    if not places:
        return "Forward and backward passes of every part by itself are not measured yet."
    links = [link(Path(place).name, f"{above}{place}/{PAGE}") for place in places]
    return f"Forward and backward passes of every part by itself: {', '.join(links)}."


def _row(timing: Timing, sizes: Sequence[str]) -> dict[str, str]:
    shown = {"part": code(timing.component), "from": timing.distribution}
    for size in sizes:
        for way in WAYS:
            pair = timing.seconds.get(size, {}).get(way)
            shown[f"{size}, {way}"] = "" if pair is None else _seconds(pair[0])
    pairs = [pair for ways in timing.seconds.values() for pair in ways.values()]
    shown["IQR"] = f"{max(iqr / median for median, iqr in pairs):.0%}"
    return shown


def _total(timing: Timing) -> float:
    """Seconds of both ways at the last size that was measured, which is the largest."""
    *_, ways = timing.seconds.values()
    return sum(median for median, _ in ways.values())


def _seconds(value: float) -> str:
    """``12.3 µs``, ``4.56 ms``, ``1.20 s``."""
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e6:.3g} µs"
