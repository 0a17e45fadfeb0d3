"""The commands of the pretraining in docs/tasks.md do what the page says, in its order."""

import re
import shlex
from pathlib import Path

import pytest

from zoo.cli import main
from zoo.config.settings import SETTINGS, Pretraining, flag

PAGE = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text(encoding="utf-8")
PAGE = PAGE.partition("## Masked language models")[2].partition("## From texts")[0]
DATA = "newswire(train=60,test=30)"
TINY = (
    "--set dim=16,heads=2,ffn_dim=32,layers=1,vocab_size=300,batch_size=32 --max-length 16 "
    "--epochs 1 --threads 1 --on inline"
).split()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_commands_run_one_after_another(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("more.txt").write_text("a match of the league\nthe shares of a bank fell\n")
    seen, blocks = set(), re.findall(r"^    (zoo .*)$", PAGE, re.MULTILINE)
    commands = [line for line in dict.fromkeys(blocks) if not line.startswith("zoo train: error")]
    assert len(commands) >= 8
    for number, command in enumerate(commands):
        words = [DATA if word == "newswire" else word for word in shlex.split(command)[1:]]
        seen.add(words[0])
        wrong = "dim=128" in words
        if words[0] in ("bench", "train"):
            given = {word for word in words if word.startswith("--")}
            tiny = zip(TINY[::2], TINY[1::2], strict=True)
            words += [part for pair in tiny if pair[0] not in given for part in pair]
        if words[0] == "bench":
            words += ["--phases", "train", "--seeds", "1", "--out", f"out{number}"]
            words += ["--set", "pretrain_epochs=1"] * ("pretrain" in words)
        assert main(words) == (2 if wrong else 0), command
        printed = capsys.readouterr()
        if wrong:
            assert re.search(
                r"--init encoder: its model has --set dim=16.*--set dim=128", printed.err
            )
        if "neighbour-ngram" in printed.out:
            seen.add("baseline")
        if "pretrain s" in printed.out:
            seen.add("seconds")
    assert seen == {"train", "predict", "evaluate", "bench", "baseline", "seconds"}


def test_every_option_of_the_stage_has_its_default_on_the_page():
    for name, field in Pretraining.model_fields.items():
        if name == "init":
            continue
        called = name if name in SETTINGS else flag(name)
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{called}"))
        default = {"": "the training split's own texts", False: "no"}.get(field.default)
        assert row.split("|")[2].strip() == (default or str(field.default)), flag
