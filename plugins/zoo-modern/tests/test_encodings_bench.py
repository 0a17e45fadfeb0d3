"""Every encoding, norm and network in ``zoo bench``: an epoch of each under two tasks."""

import pytest

import zoo
from zoo.registry.loading import load

OPTIONS = {
    "dim": 16,
    "heads": 2,
    "ffn_dim": 32,
    "layers": 1,
    "max_length": 24,
    "vocab_size": 300,
    "epochs": 1,
    "batch_size": 128,
    "seeds": 1,
    "phases": "train",
    "threads": 1,
    "device": "cpu",
}


def own(kind):
    components = load().registry.components(kind)
    return [c.name for c in components if c.owner.distribution == "zoo-modern"]


@pytest.mark.parametrize(("task", "documents"), [("classify", 60), ("lm", 10)])
def test_each_trains_for_an_epoch(task, documents, tmp_path, monkeypatch):
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    table = zoo.bench(
        task=task,
        data=f"newswire(train={documents},test={documents // 10})",
        pe=["rope", *own("pe")],
        norm=["layer", *own("norm")],
        ffn=["gelu", *own("ffn")],
        design="one-factor",
        baseline="none",
        on="inline",
        out=tmp_path / "out",
        **OPTIONS,
    ).details.table.frame
    assert list(table["status"]) == ["ok"] * (1 + 12 + 4 + 5)
