"""The options of small models, and the test documents as the csv module reads them."""

from __future__ import annotations

import csv
from pathlib import Path

TINY = (
    "--set dim=16,heads=2,ffn_dim=32,layers=2,vocab_size=160,batch_size=8 --max-length 24 "
    "--epochs 2 --threads 1 --device cpu --on inline"
).split()
GENERATOR = (
    "--set dim=16,heads=2,ffn_dim=32,layers=1 --max-length 12 --epochs 1 --threads 1 "
    "--device cpu --on inline"
).split()


def test_documents(corpus: Path) -> tuple[list[str], list[str]]:
    """Texts and labels of the test split."""
    with (corpus / "test.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [row["text"] for row in rows], [row["label"] for row in rows]


test_documents.__test__ = False  # type: ignore[attr-defined]
