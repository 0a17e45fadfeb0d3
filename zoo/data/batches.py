"""Examples on the device, and batches of examples of similar length or of random ones."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.data.sources.corpus import IGNORED
from zoo.data.token_arrays import EncodedData, TokenArrays
from zoo.data.tokenizer import FIRST_PIECE, MASK_ID, PAD_ID

NOISE = 0.02  # of the log of a length; more shuffles more and pads more: 8% padding at 0.1
MASKED, REPLACED = 0.8, 0.1  # of the chosen tokens; the others stay as they are
MOST_LENGTHS = 8  # of the batches of a split on a GPU
FIXED = 0  # seed of the masks that are the same for every model

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Batch:
    """A few examples, padded to one length.

    ids: int (B, L), padded with 0. targets: what is predicted: int (B), a class for each example,
    or (B, L), one for each token, ``IGNORED`` where nothing is scored. rows: the index of each
    example in its split. items: the number of predictions. real_tokens and padded_tokens count
    without and with padding.
    """

    ids: Tensor
    tokens: Tokens
    targets: Tensor
    rows: np.ndarray
    items: int
    real_tokens: int
    padded_tokens: int


@dataclass(frozen=True)
class PairBatch(Batch):
    """Pairs: ids are those of the sources.

    decoder_ids: int (B, Lt), the targets that the decoder reads; targets: int (B, Lt), the token
    after each, -100 where none is scored. items: the number of targets. Tokens are of both sides.
    """

    decoder_ids: Tensor
    decoder_tokens: Tokens


B = TypeVar("B", bound=Batch)


class EncodedSplit(ABC, Generic[B]):
    """Examples on the device. lengths: tokens of each."""

    lengths: np.ndarray
    by_length: ClassVar[bool] = True  # whether batches may be of examples of similar length

    def __len__(self) -> int:
        return len(self.lengths)

    @abstractmethod
    def batch(self, rows: np.ndarray) -> B:
        """The examples of these rows, padded to the longest of them."""

    def shuffled(
        self, batch_size: int, seed: int, epoch: int, *, by_length: bool = True
    ) -> Iterator[B]:
        """All examples once, in batches and an order drawn from (seed, epoch).

        by_length: of examples of similar length; otherwise (``batching="random"``) of random ones.
        """
        by_length, part = by_length and self.by_length, self.at_epoch(seed, epoch)
        for rows in shuffled_rows(self.lengths, batch_size, seed, epoch, by_length=by_length):
            yield part.batch(rows)

    def at_epoch(self, seed: int, epoch: int) -> Self:
        """The examples as they are in this epoch of a training."""
        return self

    def ordered(self, batch_size: int) -> Iterator[B]:
        """All examples once, longest first, for evaluation."""
        for rows in in_batches(np.argsort(-self.lengths, kind="stable"), batch_size):
            yield self.batch(rows)


class PaddedSplit(EncodedSplit[Batch]):
    """Texts with a class each, or a tag for each token, so that no step copies them from the host.

    targets: the column of what is predicted; None: the ids themselves. padded_lengths: those that
    batches may have; None: the longest of their texts. On a GPU they are few, for a shape that is
    new takes memory from the driver and kernels from libraries, which wait for the device.
    """

    padded_lengths: npt.NDArray[np.int64] | None = None

    def __init__(
        self, arrays: TokenArrays, device: torch.device, targets: str | None = "labels"
    ) -> None:
        self.arrays, self.device, self.column = arrays, device, targets
        self.per_token = targets == "tags"
        self.lengths = arrays.lengths
        if device.type == "cuda":
            self.padded_lengths = few_lengths(self.lengths)
        self.ids = torch.from_numpy(np.array(arrays.ids, dtype=np.int64)).to(device)
        self.starts = torch.from_numpy(np.array(arrays.offsets[:-1])).to(device)
        self._lengths = torch.from_numpy(self.lengths.copy()).to(device)
        self.scored = np.ones(len(self), dtype=np.int64)  # predictions of each text
        self.targets: Tensor | None = None
        if targets is not None:
            values = np.array(arrays.columns[targets], dtype=np.int64)
            self.targets = torch.from_numpy(values).to(device)
        if self.per_token:
            before = np.concatenate([[0], np.cumsum(values != IGNORED)])
            self.scored = np.diff(before[np.asarray(arrays.offsets)])

    def subset(self, rows: np.ndarray) -> Self:
        """Only these texts, in this order."""
        return type(self)(self.arrays.take(rows), self.device, self.column)

    def batch(self, rows: np.ndarray) -> Batch:
        lengths = self.lengths[rows]
        longest = int(lengths.max())
        if self.padded_lengths is not None and len(rows) > 1:  # a text alone needs no padding
            longest = int(self.padded_lengths[self.padded_lengths.searchsorted(longest)])
        picked = moved(rows, self.device)
        tokens = Tokens.whole(longest, self.device)
        places = (self.starts[picked, None] + tokens.positions).clamp_max(len(self.ids) - 1)
        ids = self.ids[places]
        if self.targets is not None:
            targets = self.targets[places if self.per_token else picked]
        if int(lengths.min()) < longest:
            attention_mask = tokens.positions < self._lengths[picked, None]
            counted = attention_mask, int(lengths.sum())
            tokens = replace(tokens, attention_mask=attention_mask, counted=counted)
            ids = ids.masked_fill(~attention_mask, PAD_ID)
            if self.per_token:
                targets = targets.masked_fill(~attention_mask, IGNORED)
        targets = ids if self.targets is None else targets
        items, real = int(self.scored[rows].sum()), int(lengths.sum())
        return Batch(ids, tokens, targets, rows, items, real, longest * len(rows))


class PairSplit(EncodedSplit[PairBatch]):
    """Pairs of some splits, batched by the length of the source.

    texts: the targets before encoding.
    """

    def __init__(self, data: EncodedData, splits: Sequence[str], device: torch.device) -> None:
        self.source = PaddedSplit(data.split(*splits), device, None)
        targets = data.split(*(f"{split}_target" for split in splits))
        self.target = PaddedSplit(targets, device, None)
        pairs = data.corpus().splits
        self.texts = [target for split in splits for target in pairs[split].targets]
        self.lengths = self.source.lengths

    def subset(self, rows: np.ndarray) -> Self:
        """Only these pairs, in this order."""
        part = copy.copy(self)
        part.source, part.target = self.source.subset(rows), self.target.subset(rows)
        part.lengths = part.source.lengths
        part.texts = [self.texts[row] for row in rows]
        return part

    def batch(self, rows: np.ndarray) -> PairBatch:
        source, target = self.source.batch(rows), self.target.batch(rows)
        items = target.real_tokens - len(rows)  # START is no target
        attention_mask = target.tokens.attention_mask
        # A token is an input where another follows it: the END of a shorter target is not.
        real = None if attention_mask is None else attention_mask[:, 1:]
        after = target.ids[:, 1:]
        after = after if real is None else after.masked_fill(~real, IGNORED)
        both = vars(source) | {"targets": after, "items": items}
        both["real_tokens"] += items
        both["padded_tokens"] += target.padded_tokens - len(rows)
        counted = None if real is None else (real, items)
        decoder_tokens = replace(target.tokens[:-1], attention_mask=real, counted=counted)
        return PairBatch(**both, decoder_ids=target.ids[:, :-1], decoder_tokens=decoder_tokens)


class Blocks(EncodedSplit[Batch]):
    """A long sequence, cut into blocks of ``length`` tokens without padding.

    Targets are the token after each id. The last target of a block is the first token of the next:
    every token of the sequence but its first is a target once. short: whether what is left at the
    end is a shorter block, as scoring needs; training leaves it out.
    """

    by_length = False

    def __init__(
        self, ids: npt.NDArray[np.int32], length: int, device: torch.device, *, short: bool
    ) -> None:
        self.device = device
        self.ids = torch.from_numpy(np.array(ids, dtype=np.int64)).to(device)
        whole, rest = divmod(len(ids) - 1, length)
        lengths = [length] * whole + ([rest] if short and rest else [])
        self.lengths = np.array(lengths, dtype=np.int64)
        self.starts = np.arange(len(self.lengths), dtype=np.int64) * length

    def batch(self, rows: np.ndarray) -> Batch:
        """These blocks, which must have one length."""
        length = int(self.lengths[rows[0]])
        assert (self.lengths[rows] == length).all()
        starts = moved(self.starts[rows], self.device)
        tokens = Tokens.whole(length, self.device)
        places = starts[:, None] + tokens.positions
        items = len(rows) * length
        return Batch(self.ids[places], tokens, self.ids[places + 1], rows, items, items, items)

    def ordered(self, batch_size: int) -> Iterator[Batch]:
        """All blocks once, in their order; a shorter one is a batch of its own."""
        is_whole = self.lengths == self.lengths.max()
        for blocks in (np.flatnonzero(is_whole), np.flatnonzero(~is_whole)):
            for rows in in_batches(blocks, batch_size):
                yield self.batch(rows)


@dataclass(frozen=True)
class MaskedBatch(Batch):
    """A few texts, some of whose tokens are to be predicted.

    ids: as the model sees them. places: int (n), where in the B · L tokens those to be predicted
    are; targets: int (n), what they are. counts: how many each text has (B).
    """

    places: Tensor
    counts: npt.NDArray[np.int64]


class MaskedSplit(EncodedSplit[MaskedBatch]):
    """Texts. ``shuffled`` has new masks in every epoch, ``batch`` and ``ordered`` fixed ones.

    The fixed ones are the same for every model and seed, and every chosen token is [MASK] there:
    what is scored is the probability of a token that the model does not see. share: of the tokens
    that are chosen. sizes: bytes of each entry of the vocabulary. chosen, hidden: of the fixed
    ones, whether each token is chosen, and the ids that a model sees (tokens).
    """

    def __init__(
        self, arrays: TokenArrays, share: float, sizes: npt.NDArray[np.int64], device: torch.device
    ) -> None:
        self.arrays, self.share, self.sizes = arrays, share, sizes
        self.device = device
        self.lengths = np.asarray(arrays.lengths)
        self.chosen = choose(arrays, share, np.random.default_rng(FIXED))
        self.hidden = np.where(self.chosen, np.int32(MASK_ID), arrays.ids)
        self._show(self.hidden, self.chosen)

    def at_epoch(self, seed: int, epoch: int) -> Self:
        """The texts with masks drawn from (seed, epoch)."""
        draw = np.random.default_rng([seed, epoch, 1])  # the order has the generator without the 1
        chosen, part = choose(self.arrays, self.share, draw), copy.copy(self)
        part._show(noised(np.asarray(self.arrays.ids), chosen, len(self.sizes), draw), chosen)
        return part

    def _show(self, ids: npt.NDArray[np.int32], chosen: Bools) -> None:
        self.texts = PaddedSplit(replace(self.arrays, ids=ids), self.device, None)
        self.places = np.flatnonzero(chosen)

    def batch(self, rows: np.ndarray) -> MaskedBatch:
        batch, offsets = self.texts.batch(rows), np.asarray(self.arrays.offsets)
        firsts, ends = np.searchsorted(self.places, [offsets[rows], offsets[rows + 1]])
        counts = ends - firsts
        picked = np.concatenate(
            [self.places[slice(*two)] for two in zip(firsts, ends, strict=True)]
        )
        begins = np.arange(len(rows)) * batch.ids.shape[1] - offsets[rows]
        targets = np.asarray(self.arrays.ids)[picked].astype(np.int64)
        moved_places = moved(picked + np.repeat(begins, counts), self.device)
        moved_targets = moved(targets, self.device)
        about = vars(batch) | {"targets": moved_targets, "items": len(targets)}
        return MaskedBatch(**about, places=moved_places, counts=counts)


def choose(arrays: TokenArrays, share: float, draw: np.random.Generator) -> Bools:
    """Whether each token is predicted (tokens), with this probability; special ones never are."""
    return np.asarray((draw.random(len(arrays.ids)) < share) & (arrays.ids >= FIRST_PIECE))


def noised(
    ids: npt.NDArray[np.int32], chosen: Bools, vocab_size: int, draw: np.random.Generator
) -> npt.NDArray[np.int32]:
    """The ids (tokens) as a model sees them in training (Devlin et al. 2019, section 3.1).

    Of the chosen tokens 80% are [MASK], 10% a random piece, 10% what they are.
    """
    seen = np.array(ids, dtype=np.int32)
    places = np.flatnonzero(chosen)
    kind = draw.random(len(places))
    seen[places[kind < MASKED]] = MASK_ID
    others = places[(kind >= MASKED) & (kind < MASKED + REPLACED)]
    seen[others] = draw.integers(FIRST_PIECE, vocab_size, len(others))
    return seen


def padded(examples: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tokens]:
    """Token ids of a few texts: int (B, L), padded with 0, and their tokens."""
    split = PaddedSplit(TokenArrays.of(examples), device, None)
    batch = split.batch(np.arange(len(examples)))
    return batch.ids, batch.tokens


def at_last_token(scores: Tensor, examples: Sequence[Sequence[int]]) -> Tensor:
    """Of scores (B, L, n) of padded examples those at each one's last token (B, n)."""
    last = torch.tensor([len(ids) - 1 for ids in examples], device=scores.device)
    return scores[torch.arange(len(examples), device=scores.device), last]


def few_lengths(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """At most MOST_LENGTHS lengths, the longest among them, each reached by as many examples."""
    shares = np.arange(1, MOST_LENGTHS + 1) / MOST_LENGTHS
    return np.unique(np.quantile(lengths, shares, method="higher"))


def moved(array: np.ndarray, device: torch.device) -> Tensor:
    """The array on the device. Only from pinned memory does a GPU copy while the host goes on."""
    tensor = torch.from_numpy(array)
    if device.type == "cuda":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def in_batches(rows: np.ndarray, batch_size: int) -> list[np.ndarray]:
    """The rows in their order, cut into batches; the last may be smaller."""
    return [rows[start : start + batch_size] for start in range(0, len(rows), batch_size)]


def shuffled_rows(
    lengths: np.ndarray, batch_size: int, seed: int, epoch: int, *, by_length: bool = True
) -> list[np.ndarray]:
    """Rows in batches: random ones, or sorted by length plus some noise, then shuffled.

    Without the noise every epoch would put the same examples into one batch.
    """
    draw = np.random.default_rng([seed, epoch])
    if not by_length:
        return in_batches(draw.permutation(len(lengths)), batch_size)
    noisy = lengths * np.exp(draw.uniform(-NOISE, NOISE, len(lengths)))
    batches = in_batches(np.argsort(noisy, kind="stable"), batch_size)
    return [batches[i] for i in draw.permutation(len(batches))]
