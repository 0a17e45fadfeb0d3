"""A saved masked language model fills masks."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from saved_models import TINY, train

from zoo.components.tokens import Tokens
from zoo.inference.saved_model import load
from zoo.models.text_model import MaskFiller, fill

OPTIONS = ["--task", "mlm", *TINY, "--lr", "0.01"]


@pytest.fixture(scope="module")
def encoder(corpus, tmp_path_factory) -> Path:
    return train(tmp_path_factory.mktemp("encoder") / "model", *OPTIONS, "--data", corpus)


@pytest.fixture(scope="module")
def filler(encoder) -> MaskFiller:
    model = load(encoder)
    assert isinstance(model, MaskFiller)
    return model


def test_a_mask_gets_the_pieces_that_are_likeliest_there(filler):
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


def test_a_piece_that_continues_a_word_is_joined_to_it():
    assert fill("he run [MASK] home [MASK]", ["##s", "again"]) == "he runs home again"
    assert fill("a [MASK] b [MASK]", ["x"]) == "a x b [MASK]"
    assert fill("[MASK]", ["##s"]) == "s"


@pytest.mark.parametrize(
    ("text", "says"),
    [("the striker scored", "text 1 has no [MASK]"), ("", "text 1 is empty")],
)
def test_a_text_without_a_mask_is_refused(encoder, text, says, refused_command):
    assert says in refused_command("predict", encoder, text)


def test_masks_beyond_the_models_length_stay(filler):
    (found,) = filler.predict(["a goal " * 30 + "[MASK]"])
    assert (found.masks, found.cut > 0) == ([], True)
    assert found.filled == found.text


def test_fillings_are_shown_with_their_pieces(encoder, said, rows):
    text = "the [MASK] of the match"
    filled, mask = said("predict", encoder, text).out.splitlines()
    assert filled.split()[0] == "the"
    ((pieces,),) = (row["masks"] for row in rows(encoder, text))
    assert mask == f"  mask 1: {', '.join(f'{p} {share:.3f}' for p, share in pieces)}"


def test_it_offers_no_attention_map(encoder, refused_command):
    assert "it is for zoo predict" in refused_command("attend", encoder, "a goal")
