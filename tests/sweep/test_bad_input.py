"""Bad input gets one line that says what would be right, exit status 2, and nothing is lost."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from small_runs import QUICK, SIZES, flags

from zoo.cli import main

USAGE = [
    (["--attention", "fusd"], "did you mean 'fused'?"),
    (["--pe", "rope(bas=3)"], "did you mean 'base'?"),
    (["--pe", "rope(base='x')"], "must be of type float"),
    (["--pe", "rope(base="], "name(param=value)"),
    (["--set", "blocks=3"], "--set blocks has no effect without costs"),
    (["--phases", "cost", "--lr", "0.1,0.2"], "--lr: nothing is scored without training"),
    (["--phases", "cost", "--validation", "0.2"], "--validation: nothing is scored"),
    (["--attention", ""], "--attention is empty"),
    (["--attention", ","], "--attention is empty"),
    (["--attention", "fused/naive"], "'fused/naive' is a pattern of 2 components, and the model"),
    (["--attention", "fused(" * 99], "write it as name(param=value)"),
    (["--attention", "fused/nave", "--set", "layers=2"], "did you mean 'naive'?"),
    (["--norm", "layer/"], "a name on both sides of a '/'"),
    (["--pool", "mean/cls"], "a model has one pool, which takes no pattern"),
    (["--baseline", "tfidf-logreg/ngram"], "no baseline 'tfidf-logreg/ngram'"),
    (["--pe", "sin/learned", "--set", "layers=2"], "only one encoding can add to the embeddings"),
    (["--attention", "fused/torch", "--set", "layers=2"], "torch cannot rotate queries and keys"),
    (["--reference", "naive/fused"], "--reference naive/fused"),
    (["--set", "dim=30", "--set", "heads=4"], "width 30 is not divisible into 4 heads"),
    (["--set", "dim=12", "--set", "heads=4", "--pe", "rope"], "even head width, not 3"),
    (["--set", "layers=-1"], "--set layers=-1"),
    (["--epochs", "0"], "--epochs 0"),
    (["--set", "batch_size=0"], "--set batch_size=0"),
    (["--lr", "-1"], "--lr -1"),
    (["--lr", "0", "--epochs", "0"], "--lr 0: Input should be greater than 0; --epochs 0"),
    (["--lr", "inf"], "--lr inf"),
    (["--set", "embedding_std=inf"], "--set embedding_std=inf"),
    (["--set", "timeout=inf"], "--set timeout=inf"),
    (["--set", "dropout=1"], "--set dropout=1"),
    (["--set", "precision=fp8"], "--set precision=fp8"),
    (["--data", "nowhere.csv"], "nowhere.csv"),
    (["--data", "newswires"], "did you mean 'newswire'?"),
    (["--reference", "naive+sin"], "--reference naive+sin"),
    (["--baseline", "bag"], "no baseline 'bag'"),
    (["--max-length", "1"], "length"),
    (["--set", "vocab_size=5"], "vocab"),
    (["--threads", "1000000"], "--threads 1000000: Input should be less than or equal to 1024"),
    (["--jobs", "2"], "--on inline runs one job at a time"),
    (["--set", "timeout=2"], "--on inline cannot stop a job"),
]
MISSING = [
    ("--data nope.csv", "no data 'nope.csv', and no such file or directory"),
    ("--data some/nope.csv", "no data 'some/nope.csv', and no such file"),
    ("--data nope.tsv --task seq2seq", "no data 'nope.tsv', and no such file"),
    ("--data nope.txt --task lm", "no data 'nope.txt'"),
    ("--data newswire --test nope.csv", "--test nope.csv: no such file"),
]
# Of a task: options of another one, or without effect, and data that it does not read.
TASKS = [
    ("clasify", [], "did you mean 'classify'"),
    ("lm", ["--pool", "cls"], "--pool has no effect with --task lm: every position is read"),
    ("lm", ["--set", "token_deletion=0.1"], "--set token_deletion is an option of --task classify"),
    ("lm", ["--baseline", "tfidf-logreg"], "(--task lm); there is: ngram, none"),
    ("lm", ["--data", "newswire", "--set", "vocab_size=100"], "too small"),
    ("seq2seq", ["--pool", "mean"], "--pool has no effect with --task seq2seq"),
    ("seq2seq", ["--label-column", "x"], "--label-column is an option of --task classify or lm"),
    ("seq2seq", ["--baseline", "ngram"], "there is: none"),
    ("tag", ["--data", "recall", "--pool", "cls"], "--pool has no effect with --task tag"),
    ("tag", ["--data", "recall", "--tags-column", "pos"], "for files and hub: data"),
    ("tag", ["--data", "recall(pairs=0)"], "recall needs pairs >= 1"),
    (
        "classify",
        ["--data", "newswire", "--set", "causal=yes"],
        "causal is an option of --task tag",
    ),
    ("classify", ["--data", "newswire", "--group-column", "year"], "for files and hub: data"),
    ("seq2seq", ["--data", "reverse", "--max-length", "4"], "the longest takes --max-length"),
    ("classify", ["--baseline", "ngram"], "cannot be compared with a classifier"),
]


@pytest.fixture
def no_run(tmp_path, capsys) -> Callable[..., str]:
    """The line that a run ends with which is refused; of data, what else is wrong may follow."""

    def run(*arguments: str) -> str:
        out = tmp_path / "out"
        assert main(["bench", "--on", "inline", "--out", str(out), *arguments]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        line, *more = printed.err.rstrip().splitlines()
        assert all(one.startswith("  also: ") for one in more)
        assert not list(out.glob("*.jsonl"))
        return line

    return run


def rejected() -> Iterator[Any]:
    """Arguments of ``zoo bench``, and what the line says."""
    quick = flags({**QUICK, "data": "newswire(train=24,test=8)"})
    for arguments, says in USAGE:
        yield pytest.param([*quick, *arguments], says, id=" ".join(arguments))
    for task, options, says in TASKS:
        named = "--data" in options or task in ("seq2seq", "clasify")
        data = [] if named else ["--data", "newswire"]
        words = ["--task", task, *flags(SIZES), *data, *options]
        yield pytest.param(words, says, id=" ".join([task, *options]))
    for options, says in MISSING:
        yield pytest.param([*options.split(), "--plan"], says, id=options)


@pytest.mark.parametrize(("arguments", "says"), list(rejected()))
def test_one_line_says_what_is_wrong_and_what_would_be_right(arguments, says, no_run):
    assert says in no_run(*arguments)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_gpu_that_is_not_there_is_refused_by_name(small, no_run):
    assert "--device cuda" in no_run(*flags(small), "--device", "cuda")
