"""A tutorial's experiment: one attention layer and the first token's vector, on BBC news."""

from __future__ import annotations

import copy
import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from bench.peers.comparison import Comparison, measured, skipped
from bench.peers.model_pairs import MissingError, check_equal
from bench.peers.options import CLASSES, Options
from bench.peers.ragged import load_bbc_news
from bench.peers.steps import COPY, take_turns
from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.data.batches import Batch, PaddedSplit
from zoo.data.encoding import encode_labelled
from zoo.data.token_arrays import TokenArrays
from zoo.measure.turns import Work
from zoo.models.architectures import Classifier
from zoo.models.build import build_classifier
from zoo.registry import loading
from zoo.registry.cell import Cell
from zoo.training.device import Runtime

WORK, LOOP = "the tutorial's training", "its loop with nn.MultiheadAttention"
TOLD = "its loop, asked for x[:, :1]"
FIRST, EVERY = "the first position alone", "every position, of which the first is read"
# What differs between the loops when both compute the same.
PLAIN = "lists padded for each batch, AdamW as it comes, loss.item()"
OURS = "batches cut from one array, fused AdamW"
EPOCHS, BATCH_SIZE, LR = 10, 32, 1e-3
PARAMETERS = 89_605
TEST_SHARE = 307 / 1225
SIZES = Sizes(dim=64, layers=1, heads=8, ffn_dim=1, max_length=512, vocab_size=1000)
HEAD_HIDDEN = 128
CELL = {
    "attention": "fused",
    "pe": "none",
    "norm": "none",
    "ffn": "none",
    "block": "bare",
    "pool": "cls",
}


class TutorialModel(nn.Module):
    """The tutorial's classifier, with a mask for padding, which the tutorial lacks.

    first_alone: ask attention for the first position alone, which is all that is read.
    """

    def __init__(self, vocab_size: int, *, first_alone: bool = False) -> None:
        super().__init__()
        self.queries = slice(1) if first_alone else slice(None)
        self.embedding = nn.Embedding(vocab_size, SIZES.dim)
        self.attention = nn.MultiheadAttention(SIZES.dim, SIZES.heads, batch_first=True)
        self.hidden = nn.Linear(SIZES.dim, HEAD_HIDDEN)
        self.out = nn.Linear(HEAD_HIDDEN, CLASSES)

    def forward(self, ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Ids (B, L) and attention_mask (B, L), True where a token is real, to logits."""
        x = self.embedding(ids)
        x, _ = self.attention(x[:, self.queries], x, x, key_padding_mask=~attention_mask)
        logits: Tensor = self.out(F.relu(self.hidden(x[:, 0])))
        return logits


def equal_classifier(theirs: TutorialModel, vocab_size: int) -> Classifier:
    """The zoo's classifier with the same weights and, as there, embeddings that are not scaled."""
    cell = Cell.parse(loading.load().registry, CELL)
    ours = build_classifier(
        cell, SIZES, vocab_size=vocab_size, classes=CLASSES, head_hidden=HEAD_HIDDEN, seed=0
    )
    ours.encoder.embedding = copy.deepcopy(theirs.embedding)
    attention: Any = ours.encoder.blocks[0].attention
    with torch.no_grad():
        attention.project.qkv.weight.copy_(theirs.attention.in_proj_weight)
        attention.project.qkv.bias.copy_(theirs.attention.in_proj_bias)
    attention.out.load_state_dict(theirs.attention.out_proj.state_dict())
    head: Any = ours.head
    head[1].load_state_dict(theirs.hidden.state_dict())
    head[3].load_state_dict(theirs.out.state_dict())
    return ours


def compare(options: Options) -> Iterator[Comparison]:
    """Ten epochs of each in each process, one in turn, on the same batches in the same order.

    The first is not timed.

    The tutorial's loop as it is, and told to compute only what is read, as ours does: so the first
    ratio is the product of what the shortcut gives and of the rest.
    """
    runtime = options.runtime
    try:
        train, test, vocab_size = _documents(options)
    except MissingError as missing:
        yield skipped("left out", WORK, LOOP, missing, runtime)
        return
    torch.manual_seed(0)
    theirs = TutorialModel(vocab_size).to(runtime.device)
    told = TutorialModel(vocab_size, first_alone=True).to(runtime.device)
    told.load_state_dict(theirs.state_dict())
    ours = equal_classifier(theirs, vocab_size).to(runtime.device)
    parameters = sum(p.numel() for p in ours.parameters())
    assert parameters == sum(p.numel() for p in theirs.parameters())
    assert options.quick or parameters == PARAMETERS, parameters
    test_split = PaddedSplit(test, runtime.device)
    for batch in test_split.ordered(BATCH_SIZE):
        _check_equal(batch, ours, theirs, told)
    train_split = PaddedSplit(train, runtime.device)
    steps = {
        "ours": _our_epoch(ours, train_split),
        "theirs": _their_epoch(theirs, train, runtime),
        "told": _their_epoch(told, train, runtime),
        COPY: _our_epoch(copy.deepcopy(ours), train_split),
    }
    # A turn is one epoch, however short, so that all are trained alike.
    timed = 1 if options.quick else EPOCHS - 1
    turns = take_turns(steps, options, [], blocks=timed, least=0.0)
    right = [_right(model, test_split) for model in (ours, theirs, told)]
    accuracies = ", ".join(f"{float(one.mean()):.4f}" for one in right)
    detail = f"accuracy of ours, the loop, the loop asked for x[:, :1]: {accuracies}"
    shortcut, rest = f"{FIRST}; {PLAIN}", f"{FIRST}; {OURS}"
    lines = (
        (LOOP, "theirs", "ours", rest, f"{EVERY}; {PLAIN}", 50.0),
        (TOLD, "told", "ours", rest, shortcut, None),
        (LOOP, "theirs", "told", f"not the zoo, but that loop asked for x[:, :1]: {shortcut}",
         f"{EVERY}; {PLAIN}", None),
    )  # fmt: skip
    for against, above, below, computed, theirs_computed, reach in lines:
        yield measured(
            "left out",
            WORK,
            against,
            turns.logs(above, below),
            runtime,
            check=turns.logs(COPY, "ours"),
            contention=turns.contention,
            reach=reach,
            sizes=f"1 layer × {SIZES.dim} wide, {parameters:,} parameters, {len(train)} articles",
            ours=f"{computed}; blocks kept",
            theirs=f"{theirs_computed}; blocks kept",
            detail=detail,
            seconds={"ours": turns.median(below), "theirs": turns.median(above)},
        )


def _check_equal(
    batch: Batch, ours: Classifier, theirs: TutorialModel, told: TutorialModel
) -> None:
    """Raise UnequalError unless all give the same logits and the same gradients of embeddings."""
    mask = _mask(batch.ids, batch.tokens)
    logits = {"ours": ours(batch.ids, batch.tokens)}
    logits |= {"theirs": theirs(batch.ids, mask), "told": told(batch.ids, mask)}
    gradients = {
        name: torch.autograd.grad(F.cross_entropy(logits[name], batch.targets), weight)[0]
        for name, weight in (
            ("ours", ours.encoder.embedding.weight),
            ("theirs", theirs.embedding.weight),
            ("told", told.embedding.weight),
        )
    }
    for name in ("theirs", "told"):
        check_equal("logits of the tutorial's model", logits["ours"], logits[name])
        check_equal("gradients of the tutorial's model", gradients["ours"], gradients[name])


def _mask(ids: Tensor, tokens: Tokens) -> Tensor:
    """The attention mask (B, L), also where all tokens are real."""
    mask = tokens.attention_mask
    return torch.ones_like(ids, dtype=torch.bool) if mask is None else mask


def _documents(options: Options) -> tuple[TokenArrays, TokenArrays, int]:
    """The tutorial's split: three quarters of ``train`` to train on, the rest to score.

    Returns training documents, scored documents and the size of the vocabulary.
    """
    corpus = load_bbc_news(options)
    order = np.random.default_rng(0).permutation(len(corpus.train_texts))
    cut = round(len(order) * TEST_SHARE)
    parts: dict[str, Any] = {}
    for name, rows in (("test", order[:cut]), ("train", order[cut:])):
        parts[f"{name}_texts"] = [corpus.train_texts[row] for row in rows]
        parts[f"{name}_labels"] = [corpus.train_labels[row] for row in rows]
    split = dataclasses.replace(corpus, name=f"{corpus.name}, the tutorial's split", **parts)
    encoded = encode_labelled(split, SIZES.vocab_size, SIZES.max_length)
    return encoded.split("train"), encoded.split("test"), encoded.vocab_size


def _batches(documents: int, epoch: int) -> list[np.ndarray]:
    """The documents of each batch of an epoch, shuffled by the epoch's number."""
    order = np.random.default_rng(epoch).permutation(documents)
    return [order[i : i + BATCH_SIZE] for i in range(0, documents, BATCH_SIZE)]


def _our_epoch(model: Classifier, split: PaddedSplit) -> Work:
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, fused=True)
    numbers = itertools.count()

    def epoch(_: int) -> None:
        model.train()
        total = torch.zeros((), device=split.device)
        for rows in _batches(len(split), next(numbers)):
            batch = split.batch(rows)
            loss = F.cross_entropy(model(batch.ids, batch.tokens), batch.targets)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        assert torch.isfinite(total)

    return epoch


def _their_epoch(model: TutorialModel, train: TokenArrays, runtime: Runtime) -> Work:
    """A tutorial's loop: lists of tensors, padded per batch, moved to the device, loss.item()."""
    ids = train.parts(np.asarray(train.ids, dtype=np.int64))
    texts = [torch.from_numpy(text.copy()) for text in ids]
    labels = torch.from_numpy(np.array(train.columns["labels"]))
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR)
    numbers = itertools.count()

    def epoch(_: int) -> None:
        model.train()
        total = 0.0
        for rows in _batches(len(train), next(numbers)):
            ids = pad_sequence([texts[i] for i in rows], batch_first=True)
            lengths = torch.tensor([len(texts[i]) for i in rows])
            attention_mask = torch.arange(ids.shape[1]) < lengths[:, None]
            ids, attention_mask = ids.to(runtime.device), attention_mask.to(runtime.device)
            targets = labels[torch.from_numpy(rows)].to(runtime.device)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(ids, attention_mask), targets)
            loss.backward()
            optimizer.step()
            total += loss.item()
        assert np.isfinite(total)

    return epoch


@torch.inference_mode()
def _right(model: nn.Module, split: PaddedSplit) -> np.ndarray:
    """Whether the model classifies each document correctly (documents)."""
    model.eval()
    right = []
    for batch in split.ordered(BATCH_SIZE):
        tutorial = isinstance(model, TutorialModel)
        logits = model(batch.ids, _mask(batch.ids, batch.tokens) if tutorial else batch.tokens)
        right.append((logits.argmax(dim=1) == batch.targets).cpu().numpy())
    return np.concatenate(right)
