"""``--init``: what records and tables say of it, what is refused, and what is never read."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from refused import refused
from small_runs import CLASSIFY, MLM, bench, flags, prepared, train

from zoo.cli import main
from zoo.data.sources.corpus import plain_words
from zoo.errors import ZooError
from zoo.execution.open_setup import open_setup
from zoo.inference.load import load as load_model
from zoo.inference.requests import with_saved_encoders
from zoo.registry.loading import load
from zoo.report.run_report import RunReport
from zoo.report.tables.columns import table_text
from zoo.sweep.complete import read_run
from zoo.sweep.keys import result_key
from zoo.sweep.make_request import make_request
from zoo.sweep.plan import make_plan
from zoo.sweep.pretraining_data import read_parts
from zoo.sweep.records import RecordFile
from zoo.tasks.encoder_task import without_scored

STAGE = {"init": "pretrain", "pretrain_epochs": 2, "pretrain_lr": 0.01}


@pytest.fixture(scope="module")
def encoder(corpus, tmp_path_factory) -> Path:
    return train(tmp_path_factory.mktemp("encoder") / "enc", {**MLM, "data": corpus})


@pytest.fixture(scope="module")
def pretrained(corpus, tmp_path_factory) -> Path:
    """The directory of a run with the stage."""
    out = tmp_path_factory.mktemp("pretrained")
    options = {**CLASSIFY, **STAGE, "data": str(corpus), "phases": "train", "seeds": 2}
    assert bench(out, options).failed == []
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
            "pretrain_data": "",
            "pretrain_epochs": 2,
            "pretrain_lr": 0.01,
            "pretrain_masked": 0.3,
            "pretrain_whole_words": False,
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


def test_tables_say_that_rows_were_pretrained_and_tell_the_times_apart(pretrained):
    report = RunReport(read_run(pretrained))
    (note,) = [note for note in report.notes if "pretrained" in note]
    assert "2 epochs of masked language modelling on the texts of the training split" in note
    assert "rate 0.01, 30% of the word pieces masked" in note
    table = report.table.set_index("baseline")
    assert table.loc["", "pretrain_seconds"] > 0
    assert table.loc[table.index != "", "pretrain_seconds"].isna().all()
    assert "pretrain s" in table_text(report)


def test_a_directory_of_pretrained_rows_takes_no_others(pretrained, corpus, encoder):
    options = {**CLASSIFY, "data": str(corpus), "phases": "train", "seeds": 2}
    assert bench(pretrained, {**options, **STAGE}).trained == 0
    for other in ({}, {"init": str(encoder)}, {**STAGE, "pretrain_masked": 0.4}):
        with pytest.raises(ZooError, match=r"holds records of .*; choose another directory"):
            bench(pretrained, {**options, **other})


def test_what_it_began_with_is_in_the_key(corpus, encoder, tmp_path):
    """Also the content of a model or of a file of texts, and not its place."""
    texts = tmp_path / "texts.txt"
    texts.write_text("a goal\n")
    moved = tmp_path / "elsewhere" / "enc"
    shutil.copytree(encoder, moved)
    options = {**CLASSIFY, "data": str(corpus)}

    def key(**changes: Any) -> str:
        found = prepared({**options, **changes})
        config = found.config
        for place in (tmp_path, encoder.parent):  # nor is a place in what is sent to a job
            assert str(place) not in repr((found.setup, config))
        return result_key("train", {"cell": {}, "baseline": ""}, config, {}, {}, 0)

    named = {**STAGE, "pretrain_data": str(texts)}
    keys = [key(), key(**STAGE), key(init=str(encoder)), key(**named)]
    assert len(set(keys)) == 4
    assert key(init=str(moved)) == keys[2]
    texts.write_text("a match\n")
    assert key(**named) not in keys


def test_zoo_train_begins_with_a_saved_encoder_and_takes_its_tokenizer(encoder, corpus, tmp_path):
    save = train(tmp_path / "model", {**CLASSIFY, "data": corpus, "init": encoder})
    out = tmp_path / "out"
    tokenizer = (save / "tokenizer.json").read_bytes()
    assert tokenizer == (encoder / "tokenizer.json").read_bytes()
    model = load_model(save)
    digest = json.loads((encoder / "config.json").read_text())["files"]["model.safetensors"]
    assert model.card.pretraining.init == f"enc ({digest[:12]})"
    assert f"--init {os.path.relpath(encoder)}" in model.card.command
    assert main([*shlex.split(model.card.command)[1:], "--on", "inline", "--out", str(out)]) == 0
    (record,) = RecordFile(out).read()
    assert record.key == model.card.key
    assert record.metrics["accuracy"] == model.card.metrics["accuracy"]


def test_in_a_bench_rows_with_other_parts_are_skipped_by_name(encoder, corpus, tmp_path):
    """The pool is no part of an encoder."""
    options = {**CLASSIFY, "data": str(corpus), "phases": "train", "baseline": "none"}
    options |= {"init": str(encoder), "pe": "rope,sin", "pool": "mean,cls", "norm": "layer,rms"}
    outcome = bench(tmp_path, {**options, "design": "one-factor", "epochs": 1})
    parts = ("pe", "norm", "pool")
    found = {tuple(r.cell[part] for part in parts): (r.status, r.reason) for r in outcome.records}
    assert found == {
        ("rope", "layer", "mean"): ("ok", ""),
        ("rope", "layer", "cls"): ("ok", ""),
        ("sin", "layer", "mean"): ("skipped", "--init enc has pe rope, not sin"),
        ("rope", "rms", "mean"): ("skipped", "--init enc has norm layer, not rms"),
    }
    report = RunReport(outcome.records)
    assert any("began with that of enc (" in note for note in report.notes)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"task": "lm"}, "--init pretrain has no effect with --task lm: a language model has no"),
        ({"task": "seq2seq"}, "--init pretrain has no effect with --task seq2seq"),
        ({"task": "mlm"}, "--init pretrain has no effect with --task mlm: it is that stage itself"),
        ({"task": "tag", "causal": True}, "with --causal no token sees later ones"),
        ({"init": ""}, "--set pretrain_epochs has no effect without --init pretrain"),
        ({"init": "enc"}, "--set pretrain_epochs has no effect without --init pretrain"),
        ({"pretrain_masked": 1.5}, "--set pretrain_masked=1.5"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, says, registry):
    refused(re.escape(says), make_request, {**STAGE, **changes}, registry)


def test_a_model_of_other_sizes_or_none_is_refused_by_name(encoder, corpus, tmp_path, registry):
    def plan(**changes: Any) -> None:
        requests = [make_request({**CLASSIFY, **changes}, registry)]
        make_plan(*with_saved_encoders(requests, registry), registry)

    says = r"its model has --set dim=16 --set heads=2, and .* --set dim=32"
    refused(says, plan, init=str(encoder), dim=32, heads=4)
    says = "--set vocab_size=120, and this run --set vocab_size=300"
    refused(says, plan, init=str(encoder), vocab_size=300)
    says = "nothing can run: --init enc has ffn gelu, not relu"
    refused(says, plan, init=str(encoder), ffn="relu")
    refused("--init nothing: no directory", plan, init="nothing")
    broken = tmp_path / "broken"
    shutil.copytree(encoder, broken)
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-8])
    refused(r"model.safetensors is damaged", plan, init=str(broken))
    train(tmp_path / "classifier", {**CLASSIFY, "data": corpus})
    says = "it holds a classifier, and no encoder for others"
    refused(says, plan, init=str(tmp_path / "classifier"))


def test_no_text_that_is_scored_is_pretrained_on(corpus, tmp_path):
    """Neither from the file that is given nor, where a part is held out, from that part."""
    with (corpus / "test.csv").open(newline="") as file:
        test = [row["text"] for row in csv.DictReader(file)]
    with (corpus / "train.csv").open(newline="") as file:
        train = [row["text"] for row in csv.DictReader(file)]
    own = ["a text of its own", test[3].upper() + " ", "another one", train[5]]
    given = tmp_path / "given.csv"
    with given.open("w", newline="") as file:
        csv.writer(file).writerows([["text"], *[[text] for text in own]])
    options = {**CLASSIFY, "data": str(corpus), **STAGE, "validation": 0.25}
    for changes in ({}, {"pretrain_data": str(given)}):
        setup = open_setup(prepared({**options, **changes}).setup)
        task, its = setup.task, setup
        _, held_out = task.validation_rows(its)
        scored = {plain_words(text) for text in [*test, *(train[row] for row in held_out)]}
        texts = read_parts(given, {}, []) if changes else None
        found = task.texts_to_pretrain(its, texts)
        assert not {plain_words(text) for text in found} & scored
        if changes:
            assert found[:2] == ["a text of its own", "another one"]
        else:
            assert len(found) == 54


def test_texts_of_taggers_are_their_tokens():
    options = {"task": "tag", "data": "recall(train=20,test=8,pairs=4,values=3)", **STAGE}
    setup = open_setup(prepared({**options, "device": "cpu"}).setup)
    found = setup.task.texts_to_pretrain(setup, None)
    assert set(found) <= {" ".join(tokens) for tokens in setup.data.corpus().train_tokens}
    assert len(found) == 20


def test_a_file_of_plain_text_is_one_text_whose_scored_lines_are_left_out(tmp_path):
    path = tmp_path / "book.txt"
    path.write_text("One line.\n\nA  scored LINE.\nThe last.\n")
    (parts,) = read_parts(path, {}, [])
    assert parts == ["One line.", "A  scored LINE.", "The last."]
    assert without_scored([parts], ["a scored line."]) == ([["One line.", "The last."]], 1)
    assert without_scored([["a"], ["b"]], ["A", "b ", "c"]) == ([], 2)
    assert without_scored([["c d"]], [["c", "d"]]) == ([], 1)
    path.write_text(" \n")
    refused("contains no text", read_parts, path, {}, [])


def test_other_files_are_read_as_data_are(tmp_path):
    table = tmp_path / "a.csv"
    table.write_bytes("1;Caf\xe9;two\n2;Th\xe9;four\n".encode("latin-1"))
    options = {"text_column": "2,3", "header": False, "delimiter": "semicolon"}
    notices: list[str] = []
    assert read_parts(table, options, notices) == [["Caf\xe9\ntwo"], ["Th\xe9\nfour"]]
    assert "read as cp1252, which is a guess" in notices[0]
    rows = tmp_path / "a.jsonl"  # has no header and no delimiter
    rows.write_text('{"2": "x", "3": "y"}\n')
    assert read_parts(rows, options, []) == [["x\ny"]]
    book = tmp_path / "book.txt.gz"
    book.write_bytes(gzip.compress(b"One.\n\nTwo.\n"))
    assert read_parts(book, options, []) == [["One.", "Two."]]
    folder = tmp_path / "books"
    folder.mkdir()
    (folder / "a.txt").write_text("One.\nTwo.\n")
    (folder / "b.txt").write_text("Three.\n")
    assert read_parts(folder, {}, []) == [["One.", "Two."], ["Three."]]


def test_where_there_is_a_validation_split_it_is_what_is_not_pretrained_on(corpus, tmp_path):
    shutil.copytree(corpus, tmp_path / "data")
    test = (corpus / "test.csv").read_text().splitlines()
    (tmp_path / "data" / "test.csv").write_text("\n".join(test[:11]) + "\n")
    (tmp_path / "data" / "validation.csv").write_text("\n".join([test[0], *test[11:]]) + "\n")
    options = {**CLASSIFY, "data": str(tmp_path / "data"), **STAGE}
    for validation in (0.0, 0.25):
        setup = open_setup(prepared({**options, "validation": validation}).setup)
        its = setup.data.corpus()
        assert its.validation_texts
        found = setup.task.texts_to_pretrain(setup, [[text] for text in its.validation_texts])
        assert found == []
        # No row of train is held out where there is a split for it.
        assert setup.task.texts_to_pretrain(setup, None) == its.train_texts


def test_texts_that_are_all_scored_are_refused_and_some_are_named(corpus, tmp_path, said):
    given = tmp_path / "test.csv"
    shutil.copy(corpus / "test.csv", given)
    options = {**CLASSIFY, "data": str(corpus), **STAGE, "pretrain_data": str(given)}
    refused(r"test.csv: every text in it is a test text", prepared, options)
    with given.open("a", newline="") as file:
        csv.writer(file).writerow(["a text of its own", "sport"])
    out = tmp_path / "out"
    words = [*flags(options), "--phases", "train", "--on", "inline", "--out", out]
    assert "30 of the test texts are in test.csv: not pretrained on" in said("bench", *words).err
    assert {r.metrics["pretraining"]["texts"] for r in RecordFile(out).read() if r.cell} == {1}


def test_where_what_is_left_is_held_out_the_rows_say_so(corpus, tmp_path):
    given = tmp_path / "train.csv"
    options = {**CLASSIFY, "data": str(corpus), **STAGE, "validation": 0.25}
    setup = open_setup(prepared(options).setup)
    _, held_out = setup.task.validation_rows(setup)
    text = setup.data.corpus().train_texts[held_out[0]]
    with given.open("w", newline="") as file:
        csv.writer(file).writerows([["text"], [text]])
    options |= {"pretrain_data": str(given), "phases": "train", "baseline": "none"}
    (record,) = bench(tmp_path / "out", options).records
    assert (record.status, record.reason) == (
        "crashed",
        "--pretrain-data: every text in it is one that is scored",
    )
