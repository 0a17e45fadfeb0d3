"""Choose settings by grouped cross-validation on training documents, never on the test split.

    python -m bench.cross_validate --suite bench/suites/pretrained.toml --data data/bbc-news \\
        --try pretrain_epochs=20 --try pretrain_epochs=60 --try pretrain_epochs=60,lr=1e-3 \\
        --jobs 2 --threads 1

Each setting is the suite with some options changed. The training documents are divided into folds;
near-duplicates are in one fold, so that no fold is scored on what was trained on. Each fold is a
data set of its own under ``--out``, with its records: the same command goes on where it stopped.
Prints the accuracy of each setting over all documents of each division, and their mean; for every
baseline of the suite likewise.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tabulate import tabulate

import zoo
from zoo.config.request import load_suite
from zoo.data.sources.corpus import Corpus
from zoo.data.sources.load_data import load_corpus
from zoo.errors import ZooError
from zoo.registry import loading
from zoo.registry.catalog import split_list
from zoo.sweep.keys import slug
from zoo.sweep.progress import Shown

ALIKE = 0.7  # cosine of two documents' TF-IDF from which on they are near-duplicates
Rows = npt.NDArray[np.int64]
# Division and setting, or baseline, to the shares that were right in each fold, with its size.
Scores = dict[tuple[int, str], list[tuple[int, float]]]


@dataclass(frozen=True)
class Fold:
    """One part of one division. train, held_out: rows of the training documents."""

    division: int
    number: int
    train: Rows
    held_out: Rows

    @property
    def name(self) -> str:
        """The name of its directory."""
        return f"division{self.division}-fold{self.number}"


def near_duplicates(texts: Sequence[str], alike: float = ALIKE) -> Rows:
    """The group of each text: those that are alike, directly or by way of others, have one."""
    from scipy.sparse.csgraph import connected_components
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectors = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
    similar = vectors @ vectors.T
    groups: Rows = connected_components(similar >= alike, directed=False)[1]
    return groups


def folds_of(labels: Sequence[int], groups: Rows, folds: int, divisions: int) -> Iterator[Fold]:
    """Every fold of every division; each has about the same classes, and groups stay together."""
    from sklearn.model_selection import StratifiedGroupKFold

    for division in range(1, divisions + 1):
        splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=division)
        parts = splitter.split(np.zeros(len(labels)), labels, groups)
        for number, (train, held_out) in enumerate(parts, start=1):
            yield Fold(division, number, train, held_out)


def write_fold(directory: Path, corpus: Corpus, fold: Fold) -> None:
    """The fold as a data set: ``train.jsonl`` and, of what is held out, ``test.jsonl``."""
    directory.mkdir(parents=True, exist_ok=True)
    for split, rows in (("train", fold.train), ("test", fold.held_out)):
        lines = (
            json.dumps(
                {
                    "text": corpus.train_texts[row],
                    "label": corpus.label_names[corpus.train_labels[row]],
                }
            )
            for row in rows
        )
        (directory / f"{split}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def parse_setting(text: str) -> dict[str, str]:
    """``lr=1e-3,pe=sin`` as options; ZooError for anything else."""
    found = {}
    for part in split_list(text, "--try ") if text.strip() else []:
        name, equals, value = part.partition("=")
        if not equals:
            raise ZooError(f"--try {text}: '{part}' is not NAME=VALUE")
        found[name.strip().replace("-", "_")] = value.strip()
    return found


def scores(
    corpus: Corpus,
    folds: Sequence[Fold],
    suite: dict[str, Any],
    settings: Sequence[str],
    out: Path,
    **shared: Any,
) -> Scores:
    """The share of right documents in each fold, of every setting and of every baseline.

    Raises ZooError where a setting has several cells, or a training failed.
    """
    found: Scores = {}
    for fold in folds:
        place = out / fold.name
        write_fold(place / "data", corpus, fold)
        for setting in settings:
            options = {**suite, **parse_setting(setting), **shared, "data": place / "data"}
            directory = place / (slug(setting) if setting else "suite")
            table = zoo.bench(**options, out=directory, phases="train").details
            if (cells := int((table["baseline"] == "").sum())) != 1:
                raise ZooError(f"--try {setting or 'suite'}: {cells} cells; one is scored")
            for _, row in table.iterrows():
                name = row["baseline"] or setting
                if row["status"] != "ok":
                    raise ZooError(f"{fold.name}, {name}: {row['status']}: {row['reason']}")
                own = found.setdefault((fold.division, name), [])
                # A baseline is the same under every setting that does not change its data.
                if len(own) < fold.number:
                    own.append((len(fold.held_out), float(row["accuracy_mean"])))
    return found


def as_table(found: Scores) -> str:
    """A line for each setting and baseline, best mean first."""
    divisions = sorted({division for division, _ in found})
    lines = list[list[Any]]()
    for name in dict.fromkeys(name for _, name in found):
        each = []
        for division in divisions:
            parts = found[division, name]
            each.append(
                math.fsum(size * share for size, share in parts) / sum(size for size, _ in parts)
            )
        lines.append([name or "(the suite as it is)", *each, statistics.fmean(each)])
    lines.sort(key=lambda line: -line[-1])
    heads = ["setting", *(f"division {division}" for division in divisions), "mean"]
    return tabulate(lines, headers=heads, floatfmt=".4f", disable_numparse=[0])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.cross_validate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--suite", required=True, metavar="FILE")
    parser.add_argument("--data", required=True, metavar="DATA")
    parser.add_argument("--try", dest="settings", action="append", metavar="NAME=VALUE,…")
    parser.add_argument("--folds", type=int, default=4, metavar="N")
    parser.add_argument("--divisions", type=int, default=1, metavar="N")
    parser.add_argument("--seeds", type=int, default=1, metavar="N")
    parser.add_argument("--jobs", type=int, metavar="N")
    parser.add_argument("--threads", type=int, metavar="N")
    parser.add_argument("--on", default="local", metavar="NAME")
    parser.add_argument("--out", type=Path, default=Path("runs/cross-validation"), metavar="DIR")
    given = parser.parse_args(arguments)
    try:
        corpus, _ = load_corpus(loading.load().registry, given.data)
        corpus = corpus.without_duplicates()
        groups = near_duplicates(corpus.train_texts)
        alike = len(groups) - len(set(groups.tolist()))
        print(f"{len(groups)} training documents, {alike} of them near-duplicates of another")
        folds = list(folds_of(corpus.train_labels, groups, given.folds, given.divisions))
        shared = {name: getattr(given, name) for name in ("seeds", "jobs", "threads", "on")}
        settings = list(dict.fromkeys(given.settings or [""]))
        suite = load_suite(given.suite)
        progress = Shown()
        found = scores(corpus, folds, suite, settings, given.out, progress=progress, **shared)
    except ZooError as error:
        print(f"python -m bench.cross_validate: error: {error}", file=sys.stderr)
        return 2
    print(as_table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
