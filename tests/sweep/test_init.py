"""``--init``: what records and tables say of it, what is refused, and what is never read."""

import csv
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from refused import refused
from small_runs import CLASSIFY, bench, prepared

from zoo.data.sources.corpus import plain_words
from zoo.errors import ZooError
from zoo.execution.open_setup import open_setup
from zoo.registry.loading import load
from zoo.sweep.make_request import make_request
from zoo.sweep.records import RecordFile

STAGE = {"init": "pretrain", "pretrain_epochs": 2, "pretrain_lr": 0.01}


@pytest.fixture(scope="module")
def pretrained(corpus, tmp_path_factory) -> Path:
    """The directory of a run with the stage."""
    out = tmp_path_factory.mktemp("pretrained")
    options = {**CLASSIFY, **STAGE, "data": str(corpus), "phases": "train", "seeds": 2}
    assert {r.status for r in bench(out, options).records} == {"ok"}
    return out


def request_of(command: str) -> Any:
    """The request that a command line makes, without what is only shown."""
    words = shlex.split(command)[2:]
    given: dict[str, Any] = {}
    for flag, value in zip(words[::2], words[1::2], strict=True):
        if flag == "--set":
            given |= dict(setting.split("=") for setting in value.split(","))
        else:
            given[flag.removeprefix("--").replace("-", "_")] = value
    given["seeds"] = (int(given.pop("seed")),)
    return make_request(given, load().registry)


def test_records_say_what_encoders_begin_with_and_their_commands_repeat_it(pretrained):
    records = RecordFile(pretrained).read()
    for record in records:
        assert record.config["pretraining"] == {
            "init": "pretrain",
            "pretrain_epochs": 2,
            "pretrain_lr": 0.01,
            "pretrain_masked": 0.3,
        }
        assert ("pretrain_seconds" in record.metrics) == (not record.baseline)
        pretraining = request_of(record.command).pretraining
        assert pretraining.model_dump() == record.config["pretraining"]
    cells = [record for record in records if record.cell]
    assert len({record.metrics["pretrain_seconds"] for record in cells}) == 2  # one for each seed
    for record in cells:
        assert record.metrics["pretraining"]["texts"] == 72
        assert [entry["number"] for entry in record.curve] == [1, 2]  # of the training alone
        spent = sum(entry["seconds"] for entry in record.curve)
        assert record.metrics["train_seconds"] == pytest.approx(spent)


def test_a_directory_of_pretrained_rows_takes_no_others(pretrained, corpus):
    options = {**CLASSIFY, "data": str(corpus), "phases": "train", "seeds": 2}
    assert bench(pretrained, {**options, **STAGE}).trained == 0
    for other in ({}, {**STAGE, "pretrain_masked": 0.4}):
        with pytest.raises(ZooError, match=r"holds records of .*; choose another directory"):
            bench(pretrained, {**options, **other})


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"task": "lm"}, "--init pretrain has no effect with --task lm: a language model has no"),
        ({"task": "seq2seq"}, "--init pretrain has no effect with --task seq2seq"),
        ({"task": "mlm"}, "--init pretrain has no effect with --task mlm: it is that stage itself"),
        ({"task": "tag", "causal": True}, "with --causal no token sees later ones"),
        ({"init": ""}, "--set pretrain_epochs has no effect without --init pretrain"),
        (
            {"init": "enc", "pretrain_epochs": None, "pretrain_lr": None},
            "--init enc: Input should",
        ),
        ({"pretrain_masked": 1.5}, "--set pretrain_masked=1.5"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, says, registry):
    refused(re.escape(says), make_request, {**STAGE, **changes}, registry)


def test_no_text_that_is_scored_is_pretrained_on(corpus, tmp_path):
    """Neither a test text, in whatever case, nor what is held out of the training split."""
    shutil.copytree(corpus, tmp_path / "data")
    with (corpus / "test.csv").open(newline="") as file:
        row = next(csv.DictReader(file))
    with (tmp_path / "data" / "train.csv").open("a", newline="") as file:
        shouted = {**row, "text": row["text"].upper()}
        csv.DictWriter(file, list(row)).writerow(shouted)
    options = {**CLASSIFY, "data": str(tmp_path / "data"), **STAGE, "keep_duplicates": True}
    for validation, count in ((0.0, 72), (0.25, 54)):
        setup = open_setup(prepared({**options, "validation": validation}).setup)
        corpus_texts = setup.data.corpus()
        scored = [*corpus_texts.test.texts]
        if validation:
            _, held_out = setup.task.validation_rows(setup)
            scored += [corpus_texts.train.texts[row] for row in held_out]
        texts = setup.task.texts_to_pretrain(setup)
        assert not {plain_words(text) for text in texts} & {plain_words(text) for text in scored}
        assert abs(len(texts) - count) <= 1


def test_texts_of_taggers_are_their_tokens():
    options = {"task": "tag", "data": "recall(train=20,test=8,pairs=4,values=3)", **STAGE}
    setup = open_setup(prepared({**options, "device": "cpu"}).setup)
    found = setup.task.texts_to_pretrain(setup)
    assert set(found) <= {" ".join(tokens) for tokens in setup.data.corpus().train.texts}
    assert len(found) == 20


def test_where_there_is_a_validation_split_it_is_what_is_not_pretrained_on(corpus, tmp_path):
    shutil.copytree(corpus, tmp_path / "data")
    test = (corpus / "test.csv").read_text().splitlines()
    (tmp_path / "data" / "test.csv").write_text("\n".join(test[:11]) + "\n")
    (tmp_path / "data" / "validation.csv").write_text("\n".join([test[0], *test[11:]]) + "\n")
    options = {**CLASSIFY, "data": str(tmp_path / "data"), **STAGE}
    for validation in (0.0, 0.25):
        setup = open_setup(prepared({**options, "validation": validation}).setup)
        data = setup.data.corpus()
        assert data.splits["validation"].texts
        # No row of train is held out where there is a split for it.
        assert setup.task.texts_to_pretrain(setup) == data.train.texts
