"""The tutorial's job: one attention layer and the first token's vector, on BBC news."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from bench.peers.lines import Line, machine, made
from bench.peers.news import corpus
from bench.peers.options import CLASSES, Options
from bench.peers.rivals import MissingError, must_agree
from bench.peers.timing import Ratio, race, ratio
from zoo.components.tokens import Tokens
from zoo.config.sizes import Sizes
from zoo.data.batching.document_batches import Split
from zoo.data.encoding.encoded_documents import Documents, encode
from zoo.models.build import build_classifier
from zoo.models.classifier import Classifier
from zoo.registry import loading
from zoo.registry.cell import Cell
from zoo.train.device import Runtime

WORK, AGAINST = "tutorial job", "its loop with nn.MultiheadAttention"
EPOCHS, BATCH_SIZE, LR = 10, 32, 1e-3
PARAMETERS = 89_605
TEST_SHARE = 307 / 1225
SIZES = Sizes(dim=64, layers=1, heads=8, hidden=1, head_hidden=128, max_length=512, vocab_size=1000)
CELL = {
    "attention": "fused",
    "pe": "none",
    "norm": "none",
    "ffn": "none",
    "block": "bare",
    "pool": "cls",
}


class Plain(nn.Module):
    """The classifier as a tutorial writes it, with the padding mask that this one lacked."""

    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, SIZES.dim)
        self.attention = nn.MultiheadAttention(SIZES.dim, SIZES.heads, batch_first=True)
        self.hidden = nn.Linear(SIZES.dim, SIZES.head_hidden)
        self.out = nn.Linear(SIZES.head_hidden, CLASSES)

    def forward(self, ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Ids (B, L) and padding (bool, True where it is none) to logits (B, classes)."""
        x = self.embedding(ids)
        x, _ = self.attention(x, x, x, key_padding_mask=~attention_mask)
        logits: Tensor = self.out(F.relu(self.hidden(x[:, 0])))
        return logits


def ours_from(plain: Plain, vocab_size: int) -> Classifier:
    """The zoo's classifier with the same weights; its embedding is not scaled, as there."""
    cell = Cell.parse(loading.load().registry, CELL)
    ours = build_classifier(cell, SIZES, vocab_size=vocab_size, classes=CLASSES, seed=0)
    ours.encoder.embedding = copy.deepcopy(plain.embedding)
    attention: nn.Module = ours.encoder.blocks[0].attention  # type: ignore[assignment]
    project, theirs = attention.project, plain.attention
    with torch.no_grad():
        project.qkv.weight.copy_(theirs.in_proj_weight)  # type: ignore[union-attr, operator]
        project.qkv.bias.copy_(theirs.in_proj_bias)  # type: ignore[union-attr, operator]
    attention.out.load_state_dict(theirs.out_proj.state_dict())  # type: ignore[union-attr]
    head: nn.Sequential = ours.head  # type: ignore[assignment]
    head[1].load_state_dict(plain.hidden.state_dict())
    head[3].load_state_dict(plain.out.state_dict())
    return ours


def against_loop(options: Options) -> Iterator[Line]:
    """Ten epochs of both, epoch by epoch in turn, on the same batches in the same order."""
    runtime = options.runtime
    try:
        train, test, vocab_size = _documents(options)
    except MissingError as missing:
        yield Line(work=WORK, against=AGAINST, skipped=str(missing), **machine(runtime))
        return
    torch.manual_seed(0)
    plain = Plain(vocab_size).to(runtime.device)
    ours = ours_from(plain, vocab_size).to(runtime.device)
    count = sum(p.numel() for p in ours.parameters())
    assert count == sum(p.numel() for p in plain.parameters())
    assert options.quick or count == PARAMETERS, count
    test_split = Split(test, runtime.device)
    for batch in test_split.ordered(BATCH_SIZE):
        attention_mask = batch.tokens.attention_mask
        known = (
            torch.ones_like(batch.ids, dtype=torch.bool)
            if attention_mask is None
            else attention_mask
        )
        must_agree(
            "logits of the tutorial's model", ours(batch.ids, batch.tokens), plain(batch.ids, known)
        )
    twin = copy.deepcopy(ours)
    epochs = 2 if options.quick else EPOCHS
    split = Split(train, runtime.device)
    contenders = {
        "ours": _ours_epoch(ours, split),
        "plain": _plain_epoch(plain, train, runtime),
        "itself": _ours_epoch(twin, split),
    }
    times = race(contenders, rounds=epochs, warm=False, synchronise=runtime.synchronise)
    right = [_right(model, test_split) for model in (ours, plain)]
    accuracies = " and ".join(f"{number / len(test):.4f}" for number in right)
    yield made(
        WORK,
        AGAINST,
        ratio(times["plain"], times["ours"]),
        runtime,
        rounds=epochs,
        reach=50.0,
        noise=round(ratio(times["itself"], times["ours"]).ratio, 4),
        detail=f"{count:,} parameters, {len(train)} documents, {epochs} epochs; "
        f"accuracy {accuracies}",
        seconds={name: float(times[name].sum()) for name in ("ours", "plain")}
        if runtime.device.type == "cuda"
        else None,
    )
    apart = float(abs(right[0] - right[1]))
    yield made(
        f"{WORK}, test documents on which accuracies differ",
        AGAINST,
        Ratio(apart, apart, apart),
        runtime,
        rounds=1,
        reach=1.0,
        bound="at most",
        detail=f"{len(test)} documents",
    )


def _documents(options: Options) -> tuple[Documents, Documents, int]:
    """The tutorial's split: three quarters of ``train`` to learn from, the rest to score."""
    whole = corpus(options)
    order = np.random.default_rng(0).permutation(len(whole.train_texts))
    cut = round(len(order) * TEST_SHARE)
    parts: dict[str, Any] = {}
    for name, rows in (("test", order[:cut]), ("train", order[cut:])):
        parts[f"{name}_texts"] = [whole.train_texts[i] for i in rows]
        parts[f"{name}_labels"] = [whole.train_labels[i] for i in rows]
    split = dataclasses.replace(whole, name=f"{whole.name}, the tutorial's split", **parts)
    encoded = encode(split, SIZES.vocab_size, SIZES.max_length)
    return encoded.split("train"), encoded.split("test"), encoded.vocab_size


def _order(documents: int, epoch: int) -> list[np.ndarray]:
    """The rows of an epoch's batches: a shuffle of (epoch) alone, whatever the lengths."""
    order = np.random.default_rng(epoch).permutation(documents)
    return [order[i : i + BATCH_SIZE] for i in range(0, documents, BATCH_SIZE)]


def _ours_epoch(model: Classifier, split: Split) -> Callable[[int], object]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, fused=True)
    done = iter(range(EPOCHS))

    def epoch(_: int) -> None:
        model.train()
        total = torch.zeros((), device=split.device)
        for rows in _order(len(split), next(done)):
            batch = split.batch(rows)
            loss = F.cross_entropy(model(batch.ids, batch.tokens), batch.labels)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        assert torch.isfinite(total)

    return epoch


def _plain_epoch(model: Plain, train: Documents, runtime: Runtime) -> Callable[[int], object]:
    """A tutorial's loop: lists of tensors, padded per batch, moved to the device, loss.item()."""
    texts = [torch.from_numpy(np.array(train[i], dtype=np.int64)) for i in range(len(train))]
    labels = torch.from_numpy(np.array(train.labels))
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR)
    done = iter(range(EPOCHS))

    def epoch(_: int) -> None:
        model.train()
        total = 0.0
        for rows in _order(len(train), next(done)):
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
def _right(model: nn.Module, split: Split) -> int:
    """How many documents it classifies right."""
    model.eval()
    right = 0
    for batch in split.ordered(BATCH_SIZE):
        tokens: Tokens = batch.tokens
        attention_mask = tokens.attention_mask
        if isinstance(model, Plain):
            known = (
                torch.ones_like(batch.ids, dtype=torch.bool)
                if attention_mask is None
                else attention_mask
            )
            logits = model(batch.ids, known)
        else:
            logits = model(batch.ids, tokens)
        right += int((logits.argmax(dim=1) == batch.labels).sum())
    return right
