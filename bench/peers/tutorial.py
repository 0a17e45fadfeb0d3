"""A tutorial's experiment: one attention layer and the first token's vector, on BBC news."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from bench.peers.bbc_news import load_bbc_news
from bench.peers.comparison import Comparison, measured, skipped
from bench.peers.model_pairs import MissingError, check_equal
from bench.peers.options import CLASSES, Options
from bench.peers.steps import COPY
from bench.peers.turns import Ratio, Step, ratio, time_in_turns
from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.data.batching.document_batches import Split
from zoo.data.encoding.encoded_documents import Documents, encode
from zoo.models.build import build_classifier
from zoo.models.classifier import Classifier
from zoo.registry import loading
from zoo.registry.cell import Cell
from zoo.training.device import Runtime

WORK, AGAINST = "tutorial job", "its loop with nn.MultiheadAttention"
EPOCHS, BATCH_SIZE, LR = 10, 32, 1e-3
PARAMETERS = 89_605
TEST_SHARE = 307 / 1225
SIZES = Sizes(dim=64, layers=1, heads=8, hidden=1, max_length=512, vocab_size=1000)
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
    """The tutorial's classifier, with a mask for padding, which the tutorial lacks."""

    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, SIZES.dim)
        self.attention = nn.MultiheadAttention(SIZES.dim, SIZES.heads, batch_first=True)
        self.hidden = nn.Linear(SIZES.dim, HEAD_HIDDEN)
        self.out = nn.Linear(HEAD_HIDDEN, CLASSES)

    def forward(self, ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Ids (B, L) and attention_mask (B, L), True where a token is real, to logits."""
        x = self.embedding(ids)
        x, _ = self.attention(x, x, x, key_padding_mask=~attention_mask)
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
    """Ten epochs of both, one epoch each in turn, on the same batches in the same order."""
    runtime = options.runtime
    try:
        train, test, vocab_size = _documents(options)
    except MissingError as missing:
        yield skipped(WORK, AGAINST, missing, runtime)
        return
    torch.manual_seed(0)
    theirs = TutorialModel(vocab_size).to(runtime.device)
    ours = equal_classifier(theirs, vocab_size).to(runtime.device)
    parameters = sum(p.numel() for p in ours.parameters())
    assert parameters == sum(p.numel() for p in theirs.parameters())
    assert options.quick or parameters == PARAMETERS, parameters
    test_split = Split(test, runtime.device)
    for batch in test_split.ordered(BATCH_SIZE):
        check_equal(
            "logits of the tutorial's model",
            ours(batch.ids, batch.tokens),
            theirs(batch.ids, _mask(batch.ids, batch.tokens)),
        )
    train_split = Split(train, runtime.device)
    steps = {
        "ours": _our_epoch(ours, train_split),
        "theirs": _their_epoch(theirs, train, runtime),
        COPY: _our_epoch(copy.deepcopy(ours), train_split),
    }
    epochs = 2 if options.quick else EPOCHS
    times = time_in_turns(steps, rounds=epochs, warm_up=False, synchronise=runtime.synchronise)
    right = [_count_right(model, test_split) for model in (ours, theirs)]
    accuracies = " and ".join(f"{number / len(test):.4f}" for number in right)
    seconds = {"ours": float(times["ours"].sum()), "plain": float(times["theirs"].sum())}
    yield measured(
        WORK,
        AGAINST,
        ratio(times["theirs"], times["ours"]),
        runtime,
        rounds=epochs,
        reach=50.0,
        noise=ratio(times[COPY], times["ours"]),
        detail=f"{parameters:,} parameters, {len(train)} documents, {epochs} epochs; "
        f"accuracy {accuracies}",
        seconds=seconds if runtime.device.type == "cuda" else None,
    )
    difference = float(abs(right[0] - right[1]))
    yield measured(
        f"{WORK}, test documents on which accuracies differ",
        AGAINST,
        Ratio(difference, difference, difference),
        runtime,
        rounds=1,
        reach=1.0,
        bound="at most",
        detail=f"{len(test)} documents",
    )


def _mask(ids: Tensor, tokens: Tokens) -> Tensor:
    """The attention mask (B, L), also where all tokens are real."""
    mask = tokens.attention_mask
    return torch.ones_like(ids, dtype=torch.bool) if mask is None else mask


def _documents(options: Options) -> tuple[Documents, Documents, int]:
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
    encoded = encode(split, SIZES.vocab_size, SIZES.max_length)
    return encoded.split("train"), encoded.split("test"), encoded.vocab_size


def _batches(documents: int, epoch: int) -> list[np.ndarray]:
    """The documents of each batch of an epoch, shuffled by the epoch's number."""
    order = np.random.default_rng(epoch).permutation(documents)
    return [order[i : i + BATCH_SIZE] for i in range(0, documents, BATCH_SIZE)]


def _our_epoch(model: Classifier, split: Split) -> Step:
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, fused=True)
    numbers = iter(range(EPOCHS))

    def epoch(_: int) -> None:
        model.train()
        total = torch.zeros((), device=split.device)
        for rows in _batches(len(split), next(numbers)):
            batch = split.batch(rows)
            loss = F.cross_entropy(model(batch.ids, batch.tokens), batch.labels)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        assert torch.isfinite(total)

    return epoch


def _their_epoch(model: TutorialModel, train: Documents, runtime: Runtime) -> Step:
    """A tutorial's loop: lists of tensors, padded per batch, moved to the device, loss.item()."""
    ids = np.split(np.asarray(train.ids, dtype=np.int64), train.offsets[1:-1])
    texts = [torch.from_numpy(text.copy()) for text in ids]
    labels = torch.from_numpy(np.array(train.labels))
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR)
    numbers = iter(range(EPOCHS))

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
def _count_right(model: nn.Module, split: Split) -> int:
    """How many documents the model classifies correctly."""
    model.eval()
    right = 0
    for batch in split.ordered(BATCH_SIZE):
        tutorial = isinstance(model, TutorialModel)
        logits = model(batch.ids, _mask(batch.ids, batch.tokens) if tutorial else batch.tokens)
        right += int((logits.argmax(dim=1) == batch.labels).sum())
    return right
