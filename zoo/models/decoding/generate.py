"""Generating texts token by token: greedily, by sampling, or by beam search."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from zoo.components.tokens import Tokens
from zoo.models.decoding.beam import beam_search
from zoo.models.decoding.hypotheses import Hypotheses, text_tokens
from zoo.models.decoding.sampling import Sampling, repeats
from zoo.models.encoder_decoder import EncoderDecoder
from zoo.models.language_model import LanguageModel
from zoo.models.token_scorer import TokenScorer


@dataclass(frozen=True)
class Decoding:
    """How to generate.

    max_new: the most tokens to add. end: the token that ends a text; None for none.
    sampling: how to sample; None takes the likeliest token. beams: width of the beam search, 1 for
    none. length_penalty: beams are ranked by log-probability / length^length_penalty.
    no_repeat: no n-gram of this size occurs twice in prompt and text. banned: tokens that are
    never generated. cache: whether to keep keys and values; None where the model supports it.
    Raises ValueError, one line, for values out of range.
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
            raise ValueError("beam search takes the likeliest texts and samples none: choose one")
        if not 0 <= self.length_penalty < float("inf"):
            raise ValueError(f"the length penalty must be 0 or more, not {self.length_penalty}")
        if self.no_repeat is not None and self.no_repeat < 1:
            raise ValueError(f"no-repeat must be 1 or more tokens, not {self.no_repeat}")


@dataclass(frozen=True)
class Generation:
    """The new tokens of one text, without the one that ends it.

    ended: whether that token was generated; otherwise the text was cut off. log_probability: of
    all new tokens, the end included, under the model itself (nats).
    """

    ids: list[int]
    ended: bool
    log_probability: float


def generate(
    model: LanguageModel, ids: Tensor, decoding: Decoding, *, attention_mask: Tensor | None = None
) -> list[Generation]:
    """Continue each prompt: ids (B, L); attention_mask: bool (B, L), True where real, None: all.

    Padding on either side of a prompt changes nothing. The model runs in evaluation mode. Raises
    ValueError, one line, for an empty prompt, or one too long for the model.
    """
    attention_mask = _checked(ids, attention_mask, "prompt")
    with _evaluating(model):
        return _decode(model, ids, attention_mask, decoding)


def transduce(
    model: EncoderDecoder,
    source: Tensor,
    decoding: Decoding,
    *,
    start: int,
    attention_mask: Tensor | None = None,
) -> list[Generation]:
    """Generate the target of each source (B, L), after the token ``start``; see ``generate``."""
    attention_mask = _checked(source, attention_mask, "source")
    longest = model.encoder.max_length
    if longest is not None and source.shape[1] > longest:
        raise ValueError(f"a source of {source.shape[1]} tokens: the model reads {longest} at most")
    with _evaluating(model):
        tokens = text_tokens(source, attention_mask)
        memory = model.encoder(source, tokens)
        ids = source.new_full((len(source), 1), start)
        return _decode(model, ids, None, decoding, memory, tokens)


def _decode(
    model: TokenScorer,
    ids: Tensor,
    attention_mask: Tensor | None,
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
    texts = Hypotheses(model, ids, attention_mask, memory, memory_tokens, cached=cached)
    if decoding.beams == 1:
        return _greedy_or_sampled(texts, decoding)
    found = beam_search(
        texts,
        lambda scores: _allowed(scores, texts, decoding),
        beams=decoding.beams,
        max_new=decoding.max_new,
        end=decoding.end,
        length_penalty=decoding.length_penalty,
    )
    return [Generation(*one) for one in found]


def _greedy_or_sampled(texts: Hypotheses, decoding: Decoding) -> list[Generation]:
    """One token a step for every text that has not ended."""
    batch, sampling = len(texts.ids), decoding.sampling
    generator = torch.Generator().manual_seed(sampling.seed if sampling else 0)
    written: list[list[int]] = [[] for _ in range(batch)]
    total = [0.0] * batch
    going, ended = set(range(batch)), set[int]()
    for step in range(decoding.max_new):
        scores = texts.scores()
        allowed = _allowed(scores, texts, decoding)
        # Where no token is allowed, the text stops.
        stuck = (allowed == -torch.inf).all(dim=1)
        going -= set(stuck.nonzero()[:, 0].tolist())
        allowed.masked_fill_(stuck[:, None], 0.0)
        tokens = sampling.sample(allowed, generator) if sampling else allowed.argmax(dim=-1)
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
        texts.append(tokens)
    return [Generation(written[row], row in ended, total[row]) for row in range(batch)]


def _allowed(scores: Tensor, texts: Hypotheses, decoding: Decoding) -> Tensor:
    """A copy of the scores (B, V) with -inf for each token that must not be generated."""
    scores = scores.clone()
    if decoding.banned:
        scores[:, list(decoding.banned)] = -torch.inf
    if decoding.no_repeat is not None:
        again = repeats(texts.ids, texts.attention_mask, decoding.no_repeat, scores.shape[1])
        scores.masked_fill_(again, -torch.inf)
    return scores


def _checked(ids: Tensor, attention_mask: Tensor | None, what: str) -> Tensor | None:
    """The attention_mask, None where all tokens are real; ValueError where a text has none."""
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
    return None if bool(attention_mask.all()) else attention_mask


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients; afterwards every module is in its former mode."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        for module in training:
            module.training = True
