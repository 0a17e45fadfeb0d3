"""The page for authors says what the program does, and its commands work as typed."""

import dataclasses
import itertools
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import torch
from page import PAGE, rewritten
from sandbox import SitePackages

from zoo.cli import main
from zoo.components.attention.split import Split
from zoo.components.layer_context import LayerContext
from zoo.components.pe.alibi import Alibi
from zoo.components.pe.base import NoPositions, PositionalEncoding
from zoo.components.tokens import Tokens
from zoo.conformance.check import checks_of
from zoo.data import Corpus, Pairs, TaggedCorpus, Texts
from zoo.registry import KINDS
from zoo.sweep.records import RecordFile

TEXT = PAGE.read_text("utf-8")


def blocks(language: str) -> list[str]:
    """The page's fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def test_what_is_generated_is_up_to_date():
    assert rewritten(TEXT) == TEXT, "run: python tests/registry/page.py"


def test_every_contract_and_every_status_stands_on_the_page():
    for kind in KINDS:
        assert f"\n**{kind}** — " in TEXT
    for status in ("ok", "failed", "off"):
        assert f"| `{status}` |" in TEXT


# What makes a command cheap enough. Every check of what `zoo new` writes is run in test_new.py.
LESS = {
    ("zoo", "check", "attention/my-window"): ["--only", "declares"],
}
SMALL = ["--set", "dim=16,layers=1,heads=2", "--max-length", "16", "--seeds", "1"]
FEW = ["--data", "newswire(train=100, test=30)", "--phases", "train", "--epochs", "1"]


@pytest.mark.slow
def test_the_pages_commands_work_as_typed(tmp_path, monkeypatch):
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("my_cosine.py").write_text(blocks("python")[0], "utf-8")
    site = SitePackages(tmp_path / "site-packages")
    less = LESS | {("zoo", "bench"): [*SMALL, *FEW, "--on", "inline"]}
    lines = [line for block in blocks("console") for line in block.splitlines()]
    assert len(lines) >= 8
    for line in lines:
        words = shlex.split(line)
        used = {start for start in less if tuple(words[: len(start)]) == start}
        arguments = [*words[1:], *(word for start in used for word in less[start])]
        if words[0] == "pip":
            assert arguments[0] == "install"
            site.pip_install(*arguments[1:])
        elif words[0] == "zoo":
            # All in this process, because importing torch takes seconds.
            done = site.zoo(*arguments)
            assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        else:
            done = site.run("-m", *words[:1], *arguments, cwd=tmp_path)
            assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


@pytest.mark.slow
def test_the_pages_task_works(tmp_path, monkeypatch):
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "balanced.py"
    file.write_text(next(block for block in blocks("python") if "class Balanced" in block), "utf-8")
    assert main(["check", "--plugin", str(file), "task/balanced", "metric/balanced_accuracy"]) == 0
    bench = ["bench", "--plugin", str(file), "--task", "balanced", "--on", "inline", *SMALL]
    assert main([*bench, *FEW, "--out", str(tmp_path / "out")]) == 0
    record = RecordFile(tmp_path / "out").read()[0]
    assert record.metric_descriptions[0].label == "balanced accuracy"
    # The key follows the code of the metric, whose plug-in the record names.
    assert "balanced.py" in record.plugins
    file.write_text(
        file.read_text("utf-8").replace("return float(", "return 0.5 * float("), "utf-8"
    )
    assert main([*bench, *FEW, "--out", str(tmp_path / "out")]) == 0
    names = {r.name for r in RecordFile(tmp_path / "out").read()}
    assert len({r.key for r in RecordFile(tmp_path / "out").read()}) == 2 * len(names) > 2


def test_the_pages_test_is_one_that_passes(tmp_path, monkeypatch):
    (tmp_path / "my_cosine.py").write_text(blocks("python")[0], "utf-8")
    monkeypatch.chdir(tmp_path)
    test = blocks("python")[-1].replace(
        '"attention/my-window", "attention/my-window(size=4)"',
        '"attention/my-cosine", plugin="my_cosine.py"',
    )
    assert "plugin=" in test
    page: dict[str, Any] = {}
    exec(test, page)
    (mark,) = page["test_conforms"].pytestmark
    assert mark.args[0] == "check"
    for check in mark.args[1]:
        if check.name in ("declares", "surroundings"):
            page["test_conforms"](check)


class Recording(Split):
    """Notes the shapes of the masks and biases that ``attend`` is given."""

    def attend(self, q, k, v, mask, bias):
        self.seen = tuple(None if x is None else tuple(x.shape) for x in (mask, bias))
        return super().attend(q, k, v, mask, bias)


class OfContent(PositionalEncoding):
    def content_bias(self, q, k, q_positions, k_positions, mask):
        return q @ k.transpose(-2, -1)


def test_masks_and_biases_have_the_shapes_on_the_page():
    batch, heads, length = 3, 2, 5
    sizes = {"dim": 8, "heads": heads, "head_dim": 4, "max_length": 9}
    real = torch.arange(length) < torch.tensor([[5], [3], [1]])
    near = torch.arange(length)
    each = torch.stack([near, near + 1, near + 2])
    masks, biases = set(), set()
    for mask, positions, causal, position in itertools.product(
        (None, real), (near, each), (False, True), (NoPositions, Alibi, OfContent)
    ):
        attention, x = Recording(8, heads), torch.ones(batch, length, 8)
        tokens = Tokens(mask, positions)
        attention(x, LayerContext(tokens, position(**sizes), causal=causal))
        masks.add(attention.seen[0])
        biases.add(attention.seen[1])
    square = (length, length)
    assert masks == {None, (batch, 1, 1, length), square, (batch, 1, *square)}
    assert biases == {None, (heads, *square), (batch, heads, *square)}
    for shape in ("(B, 1, 1, Lk)", "(Lq, Lk)", "(B, 1, Lq, Lk)", "(1 or H, Lq, Lk)"):
        assert shape in TEXT


def test_every_class_and_field_of_data_stands_on_the_page():
    _, _, rest = TEXT.partition("\n**data** — ")
    section, _, _ = rest.partition("\n**baseline** — ")
    for data in (Corpus, TaggedCorpus, Pairs, Texts):
        assert re.search(rf"^    {data.__name__} +texts: ", section, re.MULTILINE)
    for field in dataclasses.fields(Corpus):
        assert re.search(rf"^    {field.name} ", section, re.MULTILINE), field.name


def test_what_the_page_leaves_out_is_a_check():
    shown = re.findall(r'without=\["([a-z-]+)"\]', TEXT)
    assert len(shown) == 1
    assert set(shown) <= set(checks_of("attention"))


def test_the_zoos_own_dropout_is_what_the_page_shows():
    assert "from zoo.components.dropout import dropout" in blocks("python")[0]
    assert "F.dropout" not in TEXT
