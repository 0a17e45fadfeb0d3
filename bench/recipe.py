"""The default recipe of ``classify``: how its candidates score, and what a training of each costs.

    zoo bench --suite bench/suites/recipe.toml --out runs/recipe
    python -m bench.recipe runs/recipe

The second command writes the scores of the suite's records into ``results/recipe/lines.jsonl``,
and beside them the seconds of processor time of one training with each recipe, measured in turns:
what else runs on the machine then slows all of them alike. Lines with ``window`` are of a study
made once. ``bench.publish`` makes the page. The rule is in the suite's header.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from bench.commit import code_commit, commit_sentence, written
from bench.publish.markdown import grid
from zoo.sweep.records import FILE, RecordFile

ROOT = Path(__file__).parents[1]
SUITE = ROOT / "bench" / "suites" / "recipe.toml"
LINES = "lines.jsonl"
FOLDER = "recipe"  # among the published results
SETTINGS = ("max_length", "ffn_dim", "epochs", "batch_size", "lr", "label_smoothing")
SCREENED = 0  # the seed by which recipes were picked, which no test counts
MARGIN = 0.005
ROUNDS = 3  # trainings of each recipe whose seconds are taken
Recipe = tuple[float, ...]  # a value of each of SETTINGS
Line = Mapping[str, Any]

ABOUT = f"""\
# The default recipe

Length, inner width, epochs, batch, rate and label smoothing of `zoo bench --task classify`, chosen
by [a suite](../../bench/suites/recipe.toml), whose header has the rule as it was written down
before the runs. `fused+none`, `fused+sin` and `fused+rope` are trained on four fifths of the
training texts of two data sets and scored on the fifth that is held out. The test splits are not
read. Accuracy is the mean over these cells and over the seeds after the first, which picked the
recipes that were trained with more; of the others it is that of the first seed. Seconds are the
median processor time of one training of `fused+rope` on one thread: {ROUNDS} of each, in turns.
Each recipe is compared with the one before, paired by cell, data set and seed. The interval is of
90%: a recipe is not below the one before, by a one-sided test at 5%, where it begins above
-{100 * MARGIN:g} points."""


def score_lines(run: Path) -> Iterator[Line]:
    """The scores of a run of the suite. Raises ZooError where its records cannot be read."""
    for file in sorted(run.glob(f"*/{FILE}")):
        for record in RecordFile(file.parent).read():
            if record.status == "ok":
                settings = {**record.config["sizes"], **record.config["training"]}
                yield {
                    "data": record.config["data"]["name"],
                    "fingerprint": record.config["data"]["fingerprint"],
                    "cell": record.name,
                    "seed": record.seed,
                    "recipe": [settings[name] for name in SETTINGS],
                    "accuracy": record.metrics["accuracy"],
                    "scored": record.metrics["examples"],
                    "commit": written(record.environment["git"]),
                }


def second_lines(tables: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    """Processor time of trainings with each recipe that was not only screened, in turns."""
    import zoo

    for number, table in itertools.product(range(ROUNDS), tables):
        options = {name: table[name] for name in SETTINGS}
        start = time.process_time()
        zoo.train("fused", "rope", data=table["name"], validation=0.2, on="inline", **options)
        yield {
            "data": Path(table["name"]).name,
            "round": number,
            "recipe": [table[name] for name in SETTINGS],
            "cpu_seconds": round(time.process_time() - start, 2),
            "commit": code_commit(),
        }


def page(file: Path) -> str:
    """The published page, from the lines."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    windows = [line for line in lines if "window" in line]
    lines = [line for line in lines if "window" not in line]
    names = list(dict.fromkeys(line["data"] for line in lines))
    recipes = list(dict.fromkeys(tuple(line["recipe"]) for line in lines))
    rows = [_row(lines, recipe, recipes[0], names) for recipe in recipes]
    parts = [ABOUT, grid(rows), windows_sentence(windows) if windows else ""]
    parts.append(commit_sentence(line["commit"] for line in lines))
    return "\n\n".join(filter(None, parts)) + "\n"


def windows_sentence(lines: Sequence[Line]) -> str:
    """What reading whole texts in windows gained. window: whether a line is of that."""
    scores = {(line["cell"], line["seed"], line["window"]): line["accuracy"] for line in lines}
    gains: dict[str, list[float]] = {}
    for cell, seed, window in scores:
        if window:
            gain = scores[cell, seed, True] - scores[cell, seed, False]
            gains.setdefault(cell, []).append(100 * gain)
    mean = statistics.fmean(itertools.chain(*gains.values()))
    each = ", ".join(f"`{cell}` {statistics.fmean(of):+.1f}" for cell, of in gains.items())
    seeds = max(seed for _, seed, _ in scores)
    return (
        "A random window of 128 tokens in each epoch, and the mean of the logits of all windows "
        f"when scored, gave {mean:+.1f} points on BBC news over its first 128 tokens ({each}; "
        f"seeds 1 to {seeds}, two smoothed epochs): less than the point from which on it was to be "
        "taken."
    )


def _row(
    lines: Sequence[Line], recipe: Recipe, before: Recipe, data: Sequence[str]
) -> dict[str, str]:
    row = {
        name.replace("_", " "): f"{value:g}" for name, value in zip(SETTINGS, recipe, strict=True)
    }
    every = _scores(lines, recipe)
    scores = {key: score for key, score in every.items() if key[2] != SCREENED} or every
    row["seeds"] = str(len({seed for _, _, seed in scores}))
    for name in data:
        own = [score for (place, _, _), score in scores.items() if place == name]
        seconds = [
            line["cpu_seconds"]
            for line in lines
            if "cpu_seconds" in line and line["data"] == name and tuple(line["recipe"]) == recipe
        ]
        row[f"{name}: accuracy"] = f"{statistics.fmean(own):.3f}"
        row[f"{name}: s"] = f"{statistics.median(seconds):.1f}" if seconds else ""
    if recipe == before:
        return {**row, "against before, points": "", "": "before"}
    mean, half = difference(scores, _scores(lines, before))
    row["against before, points"] = f"{100 * mean:+.1f} ± {100 * half:.1f}"
    if scores is every:
        row[""] = "screened"
    else:
        row[""] = "not below" if mean - half > -MARGIN else "not shown to be as good"
    return row


def _scores(lines: Sequence[Line], recipe: Recipe) -> dict[tuple[str, str, int], float]:
    """Accuracy by data set, cell and seed."""
    return {
        (line["data"], line["cell"], line["seed"]): line["accuracy"]
        for line in lines
        if "accuracy" in line and tuple(line["recipe"]) == recipe
    }


def difference(
    scores: Mapping[tuple[str, str, int], float], before: Mapping[tuple[str, str, int], float]
) -> tuple[float, float]:
    """The mean of the paired differences, and half of its 90% interval of Student's t."""
    values = np.array([score - before[key] for key, score in scores.items() if key in before])
    error = values.std(ddof=1) / len(values) ** 0.5
    return float(values.mean()), float(stats.t.ppf(0.95, len(values) - 1) * error)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the lines; exit status 0."""
    parser = argparse.ArgumentParser(prog="python -m bench.recipe", description=__doc__)
    parser.add_argument("run", type=Path, help="the directory that zoo bench wrote")
    run = parser.parse_args(arguments).run
    tables = tomllib.loads(SUITE.read_text(encoding="utf-8"))["data"]
    file = ROOT / "results" / FOLDER / LINES
    several = [table for table in tables if "seeds" in table]
    lines = [*score_lines(run), *second_lines(several)]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
