"""Texts written token by token: greedily, by drawing, or by beam search."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from zoo.components.tokens import Tokens
from zoo.models.decoding.beam import beam_search
from zoo.models.decoding.sampling import Sampling, repeats
from zoo.models.decoding.steps import Steps
from zoo.models.encoder_decoder import EncoderDecoder
from zoo.models.language_model import LanguageModel
from zoo.models.token_scorer import TokenScorer


@dataclass(frozen=True)
class Decoding:
    """How to write.

    max_new: the most tokens to add. end: the token after which a text is finished; None for none.
    sampling: how to draw; None takes the likeliest. beams: how many texts to keep in sight, 1
    for none but the likeliest. length_penalty: beams compare log-probability / length to this
    power. no_repeat: no run of so many tokens comes twice in a text, its prompt among it. banned:
    tokens that never come. cache: keep keys and values; None does where the model can.
    Raises ValueError, one line, for what cannot be.
    """

    max_new: int
    end: int | None = None
    sampling: Sampling | None = None
    beams: int = 1
    length_penalty: float = 1.0
    no_repeat: int | None = None
    banned: tuple[int, ...] = ()
    cache: bool | None = None

    def __post_init__(self) -> None:
        if self.max_new < 1:
            raise ValueError(f"the number of new tokens must be 1 or more, not {self.max_new}")
        if self.beams < 1:
            raise ValueError(f"the number of beams must be 1 or more, not {self.beams}")
        if self.beams > 1 and self.sampling is not None:
            raise ValueError("beam search takes the likeliest texts, and draws none: choose one")
        if not 0 <= self.length_penalty < float("inf"):
            raise ValueError(f"the length penalty must be 0 or more, not {self.length_penalty}")
        if self.no_repeat is not None and self.no_repeat < 1:
            raise ValueError(f"no-repeat must be 1 or more tokens, not {self.no_repeat}")


@dataclass(frozen=True)
class Generation:
    """What was written: the new tokens, without the one that ends the text.

    ended: whether the text came to its end, and was not cut off. log_probability: of all that
    was written, its end included, under the model itself (nats).
    """

    ids: list[int]
    ended: bool
    log_probability: float


def generate(
    model: LanguageModel, ids: Tensor, decoding: Decoding, *, attention_mask: Tensor | None = None
) -> list[Generation]:
    """Continue each prompt: ids (B, L); padding: bool (B, L), True where real, None: all are.

    Padding may stand left or right of a prompt and changes nothing. The model runs as in
    evaluation. Raises ValueError, one line, for an empty prompt, or one too long for the model.
    """
    attention_mask = _real(ids, attention_mask, "prompt")
    with _evaluating(model):
        return _write(model, ids, attention_mask, decoding)


def transduce(
    model: EncoderDecoder,
    source: Tensor,
    decoding: Decoding,
    *,
    start: int,
    attention_mask: Tensor | None = None,
) -> list[Generation]:
    """Write the target of each source (B, L), after the token ``start``; else as ``generate``."""
    attention_mask = _real(source, attention_mask, "source")
    longest = model.encoder.max_length
    if longest is not None and source.shape[1] > longest:
        raise ValueError(f"a source of {source.shape[1]} tokens: the model reads {longest} at most")
    with _evaluating(model):
        positions = (attention_mask.cumsum(dim=1) - 1).clamp_min(0)
        tokens = Tokens(attention_mask, positions)
        memory = model.encoder(source, tokens)
        ids = source.new_full((len(source), 1), start)
        return _write(model, ids, torch.ones_like(ids, dtype=torch.bool), decoding, memory, tokens)


def _write(
    model: TokenScorer,
    ids: Tensor,
    attention_mask: Tensor,
    decoding: Decoding,
    memory: Tensor | None = None,
    memory_tokens: Tokens | None = None,
) -> list[Generation]:
    longest, whole = model.decoder.max_length, ids.shape[1] + decoding.max_new
    if longest is not None and whole > longest:
        raise ValueError(
            f"{ids.shape[1]} tokens and {decoding.max_new} new ones: the model takes {longest}"
        )
    cached = model.decoder.caches if decoding.cache is None else decoding.cache
    steps = Steps(model, ids, attention_mask, memory, memory_tokens, cached=cached)
    if decoding.beams == 1:
        return _one_by_one(steps, decoding)
    found = beam_search(
        steps,
        lambda scores: _allowed(scores, steps, decoding),
        beams=decoding.beams,
        max_new=decoding.max_new,
        end=decoding.end,
        length_penalty=decoding.length_penalty,
    )
    return [Generation(*one) for one in found]


def _one_by_one(steps: Steps, decoding: Decoding) -> list[Generation]:
    """Greedy decoding, or drawing: every text goes its own way until it ends."""
    batch, sampling = len(steps.ids), decoding.sampling
    generator = torch.Generator().manual_seed(sampling.seed if sampling else 0)
    written: list[list[int]] = [[] for _ in range(batch)]
    total = [0.0] * batch
    going, ended = set(range(batch)), set[int]()
    for step in range(decoding.max_new):
        scores = steps.scores()
        allowed = _allowed(scores, steps, decoding)
        # Where nothing is allowed, the text goes no further.
        stuck = (allowed == -torch.inf).all(dim=1)
        going -= set(stuck.nonzero()[:, 0].tolist())
        allowed.masked_fill_(stuck[:, None], 0.0)
        tokens = sampling.draw(allowed, generator) if sampling else allowed.argmax(dim=-1)
        gained = scores.gather(1, tokens[:, None])[:, 0].tolist()
        for row, token in enumerate(tokens.tolist()):
            if row not in going:
                continue
            total[row] += gained[row]
            if token == decoding.end:
                ended.add(row)
            else:
                written[row].append(token)
        going -= ended
        if not going or step == decoding.max_new - 1:
            break
        real = torch.tensor([row in going for row in range(batch)], device=tokens.device)
        steps.append(tokens, real)
    return [Generation(written[row], row in ended, total[row]) for row in range(batch)]


def _allowed(scores: Tensor, steps: Steps, decoding: Decoding) -> Tensor:
    """A copy of the scores (B, V) with -inf for each token that must not come."""
    scores = scores.clone()
    if decoding.banned:
        scores[:, list(decoding.banned)] = -torch.inf
    if decoding.no_repeat is not None:
        again = repeats(steps.ids, steps.attention_mask, decoding.no_repeat, scores.shape[1])
        scores.masked_fill_(again, -torch.inf)
    return scores


def _real(ids: Tensor, attention_mask: Tensor | None, what: str) -> Tensor:
    """The padding, whole; ValueError where a text has no token."""
    if ids.dim() != 2:
        raise ValueError(f"a batch of {what}s is (texts, tokens), not {tuple(ids.shape)}")
    if attention_mask is None:
        attention_mask = torch.ones_like(ids, dtype=torch.bool)
    if attention_mask.shape != ids.shape:
        raise ValueError(
            f"attention_mask {tuple(attention_mask.shape)} for {what}s of {tuple(ids.shape)}"
        )
    empty = (~attention_mask.any(dim=1)).nonzero()[:, 0].tolist()
    if empty:
        raise ValueError(f"{what} {empty[0] + 1} of {len(ids)} is empty")
    return attention_mask


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """Without dropout and gradients, and every module as it was afterwards."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        for module in training:
            module.training = True
