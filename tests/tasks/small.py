"""Runs of the tasks that take seconds."""

from __future__ import annotations

SIZES = "--dim 16 --heads 2 --hidden 32 --layers 1 --threads 1 --device cpu".split()
LM = [
    *"--task lm --max-length 24 --vocab-size 300 --epochs 2 --lr 0.01 --batch-size 8".split(),
    *SIZES,
]
SEQ2SEQ = [
    *"--task seq2seq --max-length 12 --epochs 4 --lr 0.01 --beam 3".split(),
    *["--data", "copy(train=200,test=20,shortest=2,longest=4)"],
    *SIZES,
]
