"""Bad input gets one line that says what would be right, exit status 2, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from zoo.cli import main

USAGE = [
    (["--attention", "fusd"], "did you mean 'fused'?"),
    (["--pe", "rope(bas=3)"], "did you mean 'base'?"),
    (["--pe", "rope(base='x')"], "must be of type float"),
    (["--pe", "rope(base="], "name(param=value)"),
    (["--attention", ""], "--attention is empty"),
    (["--attention", ","], "--attention is empty"),
    (["--atention", "fused"], "--attention"),
    (["--dim", "30", "--heads", "4"], "does not divide into 4 heads"),
    (["--dim", "12", "--heads", "4", "--pe", "rope"], "even head width, not 3"),
    (["--dim", "0"], "--dim 0"),
    (["--layers", "-1"], "--layers -1"),
    (["--epochs", "0"], "--epochs 0"),
    (["--batch-size", "0"], "--batch-size 0"),
    (["--lr", "-1"], "--lr -1.0"),
    (["--lr", "nan"], "--lr nan"),
    (["--lr", "inf"], "--lr inf"),
    (["--embedding-std", "inf"], "--embedding-std inf"),
    (["--timeout", "inf"], "--timeout inf"),
    (["--dropout", "1"], "--dropout 1.0"),
    (["--seeds", "0"], "--seeds 0"),
    (["--seeds", "2", "--seed", "3"], "use one of the two"),
    (["--schedule", "step"], "'linear', 'cosine' or 'constant'"),
    (["--device", "tpu"], "--device 'tpu'"),
    (["--precision", "fp8"], "--precision 'fp8'"),
    (["--phases", "trial"], "'trials' or 'probes'"),
    (["--data", "nowhere.csv"], "nowhere.csv"),
    (["--data", "newswires"], "did you mean 'newswire'?"),
    (["--reference", "naive+sin"], "--reference naive+sin"),
    (["--baseline", "bag"], "no baseline 'bag'"),
    (["--max-length", "1"], "length"),
    (["--vocab-size", "5"], "vocab"),
    (["--fresh", "--collect"], "use one of them"),
    (["--plugin", "nowhere.py"], "nowhere.py cannot be read"),
    (["--pe", "sin(base=-1.0)"], "base"),
]


@pytest.mark.parametrize(("arguments", "told"), USAGE, ids=lambda v: " ".join(v) if v else "")
def test_one_line_says_what_is_wrong_and_what_would_be_right(
    arguments: list[str], told: str, tiny: list[str], tmp_path: Path, capsys
):
    out = tmp_path / "out"
    assert main(["bench", *tiny, "--out", str(out), *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.strip().splitlines()
    assert len(lines) == 1, printed.err
    assert told in lines[0]
    assert not list(out.glob("*.jsonl"))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_gpu_that_is_not_there_is_refused_by_name(tiny: list[str], tmp_path: Path, capsys):
    assert main(["bench", *tiny, "--device", "cuda", "--out", str(tmp_path)]) == 2
    assert "--device cuda" in capsys.readouterr().err


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


GOOD = "text,label\n" + "".join(f"word{i} and more,{'ab'[i % 2]}\n" for i in range(20))


@pytest.mark.parametrize(
    ("train", "test", "told"),
    [
        ("", GOOD, "empty"),
        ("words,label\nhello,a\n", GOOD, "'text'"),
        ("text,class\nhello,a\n", GOOD, "'label'"),
        ("text,label\nhello,a\nbye,a\n", "text,label\nhello,a\n", "two classes"),
        (GOOD + ",a\n", GOOD, "text"),
        (GOOD, GOOD + "new,c\n", "'c'"),
        (GOOD.encode() + b"\xff\xfe broken,a\n", GOOD, "UTF-8"),
    ],
    ids=["empty", "no text", "no label", "one class", "empty text", "unseen label", "broken UTF-8"],
)
def test_bad_data_is_refused_in_one_line(
    train: str | bytes, test: str, told: str, tmp_path: Path, capsys
):
    write(tmp_path / "data" / "train.csv", train)
    write(tmp_path / "data" / "test.csv", test)
    arguments = ["bench", "--data", str(tmp_path / "data"), "--out", str(tmp_path / "out")]
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert len(printed.err.strip().splitlines()) == 1, printed.err
    assert told in printed.err
    assert "Traceback" not in printed.err


def test_debug_gives_the_traceback(capsys):
    assert main(["--debug", "bench", "--attention", "fusd"]) == 2
    assert "Traceback" in capsys.readouterr().err
