"""The code of ``docs/python.md`` runs as it stands, one block after another."""

import re
from pathlib import Path
from typing import Any

from small_runs import COMMON, SIZES, WORDS, isolated

import zoo

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
# What makes it quick; the page itself needs none of it.
QUICK = {**SIZES, "epochs": 1, "max_length": 16, "vocab_size": 120, "baseline": "none"}


def test_the_page_works_as_it_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    bench, train = zoo.bench, zoo.train
    here = {"on": "inline"}
    quick = {
        "bench": lambda **o: bench(**{**QUICK, **here, **o}),
        "train": lambda **o: train(**here, **o),
    }
    for name, function in quick.items():
        monkeypatch.setitem(vars(zoo), name, function)
    texts = [
        f"{own} {COMMON[n % 9]} {own}" for words in WORDS.values() for n, own in enumerate(words)
    ]
    labels = [label for label, words in WORDS.items() for _ in words]
    names: dict[str, Any] = {"texts": texts, "labels": labels}
    with isolated(tmp_path / "cache"):
        for block in BLOCKS:
            exec(compile(block, "docs/python.md", "exec"), names)
    said = capsys.readouterr().out
    assert names["result"].answer in said
    assert str(names["result"].directory) in said
    assert names["final"].card.cell == names["result"].best
    assert (tmp_path / "final" / "model.safetensors").is_file()
    assert names["vectors"].shape == (1, 3, 64)
    assert names["estimator"].predict(["goal"])[0] in WORDS
