"""Masked language modelling: which tokens are masked, the loss, the scores, and the n-gram."""

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refused
from small_runs import DEFAULT_CELL, MLM, bench

from zoo.components.baseline.ngram import NeighbourNGram
from zoo.components.tokens import Tokens
from zoo.config.settings import Training
from zoo.config.sizes import Sizes
from zoo.data.batches import MaskedSplit
from zoo.data.encoding import encode_windows, windows
from zoo.data.sources.corpus import Texts
from zoo.data.token_arrays import EncodedData, TokenArrays
from zoo.data.tokenizer import (
    CLS,
    FIRST_PIECE,
    MASK_ID,
    PAD_ID,
    SPECIALS,
    piece_bytes,
    train_word_pieces,
)
from zoo.registry.cell import Cell
from zoo.tasks.base import TaskSetup
from zoo.tasks.mlm import MaskedLanguageModelling, MaskedOptions, held_out_windows
from zoo.training.device import Runtime

RUNTIME = Runtime(torch.device("cpu"), "fp32")
CPU = RUNTIME.device
TASK = MaskedLanguageModelling()
quick = settings(max_examples=40, deadline=None, derandomize=True, database=None)


def drawn(windows: int = 400, length: int = 50, size: int = 60) -> tuple[TokenArrays, np.ndarray]:
    """Windows that begin with [CLS]; a tenth of the tokens are unknown."""
    draw = np.random.default_rng(0)
    sizes = np.where(np.arange(size) < FIRST_PIECE, 0, np.arange(size) % 5 + 1)
    ids = draw.integers(FIRST_PIECE, size, windows * length)
    ids[draw.random(len(ids)) < 0.1] = SPECIALS.index("[UNK]")
    ids[::length] = SPECIALS.index(CLS)
    offsets = np.arange(windows + 1, dtype=np.int64) * length
    return TokenArrays(ids.astype(np.int32), offsets, {"texts": np.arange(windows)}), sizes


def split_of(share: float = 0.3) -> MaskedSplit:
    arrays, sizes = drawn()
    return MaskedSplit(arrays, share, sizes, CPU)


@pytest.mark.parametrize("share", [0.15, 0.3])
def test_a_share_of_the_pieces_is_chosen_and_never_a_special_token(share):
    split = split_of(share)
    ids = np.asarray(split.arrays.ids)
    real = ids >= FIRST_PIECE
    assert not split.chosen[~real].any()
    error = 4 * math.sqrt(share * (1 - share) / real.sum())
    assert abs(split.chosen[real].mean() - share) < error


def test_in_training_80_percent_are_masks_10_another_piece_and_10_as_they_are():
    split, seen = split_of(), Counter[str]()
    for batch in split.shuffled(16, seed=1, epoch=0):
        shown = batch.ids.flatten()[batch.places]
        seen["mask"] += int((shown == MASK_ID).sum())
        seen["same"] += int((shown == batch.targets).sum())
        seen["all"] += batch.items
        assert int(shown.min()) >= MASK_ID  # never [PAD], [UNK] or [CLS]
    # One random piece of 56 is the one that it replaces.
    expected = {"mask": 0.8, "same": 0.1 + 0.1 / 56}
    for kind, share in expected.items():
        error = 4 * math.sqrt(share * (1 - share) / seen["all"])
        assert abs(seen[kind] / seen["all"] - share) < error, kind


def rows_of(split: MaskedSplit, seed: int, epoch: int) -> dict[int, tuple[list[int], list[int]]]:
    """Row to the ids that a model sees, and those that it should give, 0 elsewhere."""
    targets_of = {}
    for batch in split.shuffled(16, seed, epoch):
        wanted = torch.zeros_like(batch.ids).flatten()
        wanted[batch.places] = batch.targets
        both = zip(batch.ids.tolist(), wanted.view_as(batch.ids).tolist(), strict=True)
        targets_of |= dict(zip(batch.rows.tolist(), both, strict=True))
    return targets_of


def test_masks_are_new_in_every_epoch_and_follow_from_the_seed():
    split = split_of()
    first = rows_of(split, seed=0, epoch=0)
    assert sorted(first) == list(range(len(split)))
    assert rows_of(split_of(), seed=0, epoch=0) == first
    ids = np.asarray(split.arrays.ids).reshape(len(split), -1)
    for other in (rows_of(split, seed=0, epoch=1), rows_of(split, seed=1, epoch=0)):
        assert sum(other[row] == first[row] for row in first) == 0
    for row, (seen, wanted) in first.items():
        true = [w or s for s, w in zip(seen, wanted, strict=True)]
        assert true == ids[row].tolist()


def test_what_is_scored_has_the_same_masks_for_every_model_and_all_are_masks():
    split, other = split_of(), split_of()
    list(split.shuffled(16, seed=3, epoch=4))  # training on it changes nothing
    for mine, theirs in zip(split.ordered(32), other.ordered(32), strict=True):
        assert torch.equal(mine.ids, theirs.ids)
        assert torch.equal(mine.places, theirs.places)
        assert (mine.ids.flatten()[mine.places] == MASK_ID).all()
        assert int(mine.counts.sum()) == mine.items


@pytest.fixture(scope="module")
def encoded(tmp_path_factory) -> EncodedData:
    words = "the owl saw a naïve fox run over hills and sleep till dawn".split()
    draw = np.random.default_rng(0)
    texts = [" ".join(draw.choice(words, draw.integers(3, 60))) for _ in range(60)]
    return encode_windows(
        Texts("drawn", {"train": (texts[:45],), "validation": (texts[45:],)}), 60, 16
    )


def setup_of(encoded: EncodedData, **options: Any) -> TaskSetup:
    sizes = Sizes(dim=16, heads=2, ffn_dim=32, layers=1, max_length=16, vocab_size=60)
    training = Training(dropout=0.0)
    return TaskSetup(
        TASK, MaskedOptions(**options), sizes, training, encoded.vocab_size, [], encoded
    )


def logits_alone(model: torch.nn.Module, ids: torch.Tensor) -> torch.Tensor:
    """Every logit of one text, in float64 and without padding."""
    real = ids[ids != PAD_ID][None]
    logits: torch.Tensor = model(real, Tokens.whole(real.shape[1]))[0]
    return logits


def test_a_new_model_knows_how_often_each_token_occurs_in_the_training_texts(encoded, registry):
    setup = setup_of(encoded)
    model = TASK.build(setup, Cell.parse(registry, DEFAULT_CELL), seed=0)
    counts = Counter(encoded.split("train").ids.tolist())
    total = sum(counts.values()) + setup.vocab_size
    expected = [(counts[token] + 1) / total for token in range(setup.vocab_size)]
    assert model.bias.softmax(0).tolist() == pytest.approx(expected, rel=1e-5)
    assert model.bias.requires_grad


def test_the_loss_is_the_mean_negative_log_likelihood_of_the_masked_tokens(encoded, registry):
    setup = setup_of(encoded)
    model = TASK.build(setup, Cell.parse(registry, DEFAULT_CELL), seed=0).double().eval()
    split = TASK.split(setup, ["train"], CPU)
    batch = next(iter(split.shuffled(32, seed=0, epoch=0)))
    loss, right = TASK.loss(setup, model, batch)
    nats, hits = list[float](), 0
    width = batch.ids.shape[1]
    for place, target in zip(batch.places.tolist(), batch.targets.tolist(), strict=True):
        row, position = divmod(place, width)
        scores = logits_alone(model, batch.ids[row])[position].tolist()
        nats.append(math.log(sum(math.exp(s) for s in scores)) - scores[target])
        hits += max(range(len(scores)), key=scores.__getitem__) == target
    assert len(nats) > 20
    assert loss.item() == pytest.approx(sum(nats) / len(nats), rel=1e-6)
    assert right.item() == hits


def test_scores_are_of_the_masked_tokens_and_the_bytes_that_they_stand_for(encoded, registry):
    setup = setup_of(encoded)
    model = TASK.build(setup, Cell.parse(registry, DEFAULT_CELL), seed=0).eval()
    _, scored = TASK.splits(setup, CPU)
    evaluation = TASK.evaluate(setup, model, scored, RUNTIME)
    tokenizer = encoded.tokenizer()
    nats, size, right, tokens = 0.0, 0, 0, 0
    with torch.no_grad():
        for row in range(len(scored)):
            start, end = scored.arrays.offsets[row : row + 2]
            true, chosen = scored.arrays.ids[start:end], scored.chosen[start:end]
            hidden = torch.tensor(np.where(chosen, MASK_ID, true), dtype=torch.long)
            shares = logits_alone(model, hidden).double().softmax(dim=-1)
            for place in np.flatnonzero(chosen):
                target = int(true[place])
                nats -= math.log(shares[place, target])
                size += len(tokenizer.id_to_token(target).removeprefix("##").encode())
                right += int(shares[place].argmax()) == target
                tokens += 1
    assert (evaluation.outputs["tokens"], evaluation.outputs["bytes"]) == (tokens, size)
    assert evaluation.outputs["right_tokens"] == right
    values = {
        m.description.name: m.compute(evaluation.outputs) for m in TASK.metrics_from(registry, [])
    }
    assert values["bits_per_byte"] == pytest.approx(nats / math.log(2) / size, rel=1e-4)
    assert values["token_accuracy"] == right / tokens
    assert list(values) == ["bits_per_byte", "token_accuracy"]


def test_windows_lose_no_piece_and_are_about_equal():
    texts = ["the owl saw a fox " * 30, "the owl", "", "a fox saw the owl " * 7]
    tokenizer = train_word_pieces([text for text in texts if text], 40)
    arrays = windows(tokenizer, texts, 12)
    cls = tokenizer.token_to_id(CLS)
    for number, text in enumerate(texts):
        rows = np.flatnonzero(arrays.columns["texts"] == number)
        parts = [arrays.ids[arrays.offsets[r] : arrays.offsets[r + 1]].tolist() for r in rows]
        assert all(part[0] == cls and 2 <= len(part) <= 12 for part in parts)
        assert [i for part in parts for i in part[1:]] == tokenizer.encode(text).ids[1:]
        assert not parts or max(map(len, parts)) - min(map(len, parts)) <= 1
    assert arrays.columns["texts"].tolist() == sorted(arrays.columns["texts"].tolist())


def test_pieces_stand_for_the_bytes_of_their_letters():
    tokenizer = train_word_pieces(["naïve über straße ## #"], 40)
    sizes = piece_bytes(tokenizer)
    for text in ("naïve", "straße", "#"):
        ids = tokenizer.encode(text).ids[1:]
        letters = tokenizer.normalizer.normalize_str(text)
        assert sizes[ids].sum() == len(letters.encode()), text
    assert not sizes[: len(SPECIALS)].any()


def test_a_share_for_validation_is_the_end_of_the_training_texts(encoded):
    train = encoded.split("train")
    fit, held_out = held_out_windows(train, 0.2)
    assert fit.max() < held_out.min()
    assert len(fit) + len(held_out) == len(train)
    assert len(held_out) == round(0.2 * len(train))
    assert len(held_out_windows(train, 1e-9)[1]) == 1
    setup = setup_of(encoded)
    held = replace(setup, training=setup.training.model_copy(update={"validation": 0.2}))
    assert [len(split) for split in TASK.splits(held, CPU)] == [len(fit), len(held_out)]


def test_texts_without_a_masked_token_are_refused(encoded, registry):
    setup = setup_of(encoded, masked=1e-9)
    model = TASK.build(setup, Cell.parse(registry, DEFAULT_CELL), seed=0)
    refused("larger --set masked", TASK.evaluate, setup, model, TASK.splits(setup, CPU)[1], RUNTIME)


def between(texts: list[list[int]], left: int, right: int, size: int) -> list[float]:
    """The formula of the docstring, with dictionaries: P of every token between two others."""
    triples = [
        (before, token, behind)
        for text in texts
        for before, token, behind in zip(text, text[1:], [*text[2:], 0], strict=False)
    ]

    def smoothed(chosen: list[int], lower: list[float]) -> list[float]:
        counts = Counter(chosen)
        if not counts:
            return lower
        total = len(chosen) + len(counts)
        return [(counts[w] + len(counts) * lower[w]) / total for w in range(size)]

    alone = smoothed([w for _, w, _ in triples], [1 / size] * size)
    of_left = smoothed([w for b, w, _ in triples if b == left], alone)
    of_right = smoothed([w for _, w, a in triples if a == right], alone)
    product = [x * y / z for x, y, z in zip(of_left, of_right, alone, strict=True)]
    apart = [p / sum(product) for p in product]
    return smoothed([w for b, w, a in triples if (b, a) == (left, right)], apart)


TEXTS = st.lists(st.lists(st.integers(0, 5), min_size=2, max_size=12), min_size=1, max_size=4)
TEXT = st.lists(st.integers(0, 6), min_size=3, max_size=8)


@quick
@given(TEXTS, TEXT, st.data())
def test_the_ngram_of_neighbours_is_that_of_its_formula_and_sums_to_one(texts, text, data):
    place = data.draw(st.integers(1, len(text) - 1))
    model = NeighbourNGram(vocab_size=7)
    model.fit([np.array(each) for each in texts])
    (probabilities,) = np.exp(model.log_probabilities(np.array(text), np.array([place])))
    assert probabilities.sum() == pytest.approx(1)
    right = text[place + 1] if place + 1 < len(text) else 0
    assert probabilities.tolist() == pytest.approx(between(texts, text[place - 1], right, 7))


def test_cells_and_the_ngram_are_scored_on_the_same_masks_in_one_table(book, tmp_path):
    options = {**MLM, "data": str(book), "phases": "train", "seeds": 2, "masked": 0.4}
    records = bench(tmp_path, options).records
    assert [record.status for record in records] == ["ok"] * 3
    for name in ("tokens", "bytes", "texts"):
        assert len({record.metrics[name] for record in records}) == 1
    values = {r.name: r.metrics["bits_per_byte"] for r in records}
    assert values["neighbour-ngram"] < 1  # few words follow one another
    assert len(values) == 2
    (command,) = {r.command for r in records if r.baseline}
    assert command.endswith(
        "--max-length 24 --epochs 2 --lr 0.01 --device cpu --threads 1 --set masked=0.4,"
        "dim=16,layers=1,heads=2,ffn_dim=32,vocab_size=120,batch_size=8"
    )
    first = next(r for r in records if r.cell)
    assert first.metrics["scored"] == "validation"
    assert first.curve[-1]["loss"] < first.curve[0]["loss"]
