"""A saved masked language model: masks filled, and the score of its training again."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
import torch
from saved_models import TINY

from zoo.cli import main
from zoo.components.tokens import Tokens
from zoo.inference.load import load
from zoo.models.text_model import MaskFiller, fill

OPTIONS = ["--task", "mlm", *TINY, "--lr", "0.01"]


@pytest.fixture(scope="module")
def encoder(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("encoder") / "model"
    assert main(["train", *OPTIONS, "--data", str(corpus), "--save", str(directory)]) == 0
    return directory


@pytest.fixture(scope="module")
def filler(encoder: Path) -> MaskFiller:
    model = load(encoder)
    assert isinstance(model, MaskFiller)
    return model


def test_a_mask_gets_the_pieces_that_are_likeliest_there(filler: MaskFiller) -> None:
    texts = ["the [MASK] scored a goal and [MASK]", "a bank [MASK]"]
    for text, found in zip(texts, filler.predict(texts), strict=True):
        ids = torch.tensor([filler.tokenizer.encode(text).ids])
        with torch.no_grad():
            logits = filler(ids, Tokens.whole(ids.shape[1]))[0].clone()
        logits[:, :4] = -torch.inf
        places = (ids[0] == filler.tokenizer.token_to_id("[MASK]")).nonzero().flatten()
        assert len(found.masks) == len(places) == text.count("[MASK]")
        for place, pieces in zip(places, found.masks, strict=True):
            shares = logits[place].softmax(dim=-1)
            best = sorted(range(len(shares)), key=lambda i: -float(shares[i]))[:5]
            assert [piece for piece, _ in pieces] == [filler.tokenizer.id_to_token(i) for i in best]
            assert [p for _, p in pieces] == pytest.approx([float(shares[i]) for i in best], 1e-4)
        assert found.filled == fill(text, [pieces[0][0] for pieces in found.masks])


def test_a_piece_that_continues_a_word_is_joined_to_it() -> None:
    assert fill("he run [MASK] home [MASK]", ["##s", "again"]) == "he runs home again"
    assert fill("a [MASK] b [MASK]", ["x"]) == "a x b [MASK]"
    assert fill("[MASK]", ["##s"]) == "s"


@pytest.mark.parametrize(
    ("text", "says"),
    [("the striker scored", r"text 1 has no \[MASK\]"), ("", "text 1 is empty")],
)
def test_a_text_without_a_mask_is_refused(encoder: Path, text: str, says: str, capsys) -> None:
    assert main(["predict", str(encoder), text]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(says, line)


def test_masks_beyond_the_models_length_stay(filler: MaskFiller) -> None:
    (found,) = filler.predict(["a goal " * 30 + "[MASK]"])
    assert (found.masks, found.cut > 0) == ([], True)
    assert found.filled == found.text


def test_evaluated_on_the_data_of_its_training_it_has_the_score_of_its_training(
    encoder: Path, filler: MaskFiller, corpus: Path, capsys
) -> None:
    assert main(["evaluate", str(encoder), "--data", str(corpus), "--json"]) == 0
    printed = capsys.readouterr()
    assert "warning" not in printed.err
    found = json.loads(printed.out)
    for name in ("tokens", "bytes"):
        assert found[name] == filler.card.metrics[name]
    for name in ("bits_per_byte", "token_accuracy"):
        assert found[name] == pytest.approx(filler.card.metrics[name], rel=1e-5)
    assert main(["evaluate", str(encoder), "--data", str(corpus), "--split", "train"]) == 0
    assert "warning: the model was trained on these texts" in capsys.readouterr().err
    for words in (["--tags-column", "tags"], ["--mistakes", "3"]):
        assert main(["evaluate", str(encoder), "--data", str(corpus), *words]) == 2
        assert words[0] in capsys.readouterr().err


def test_it_is_evaluated_on_files_as_they_come(
    encoder: Path, corpus: Path, tmp_path: Path, capsys
) -> None:
    named, bare = tmp_path / "named.csv", tmp_path / "bare.csv"
    named.write_text((corpus / "train.csv").read_text())
    with named.open(newline="") as file, bare.open("w", newline="") as other:
        csv.writer(other, delimiter=";").writerows(list(csv.reader(file))[1:])
    by_number = ["--no-header", "--text-column", "1", "--label-column", "2"]
    found = []
    for file, words in ((named, ["--split", "validation"]), (bare, by_number)):
        assert main(["evaluate", str(encoder), "--data", str(file), *words, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    for name in ("fingerprint", "tokens", "bits_per_byte"):
        assert found[0][name] == found[1][name]


def test_it_offers_no_attention_map(encoder: Path, capsys) -> None:
    assert main(["attend", str(encoder), "a goal"]) == 2
    assert "it is for zoo predict, zoo evaluate" in capsys.readouterr().err
