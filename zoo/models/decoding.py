"""Generate texts with a language model or an encoder-decoder."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.models.architectures import EncoderDecoder, LanguageModel, TokenScorer, evaluating


def sample(scores: Tensor, temperature: float, generator: torch.Generator) -> Tensor:
    """A token (B) for each row of scores (B, V), which are -inf for forbidden tokens.

    Computed on the CPU, so that one seed gives the same tokens on every device.
    """
    shares = (scores.cpu().double() / temperature).softmax(dim=-1)
    shares = shares.nan_to_num(1.0)  # of a row of which all is forbidden
    return torch.multinomial(shares, 1, generator=generator)[:, 0].to(scores.device)


def repeats(ids: Tensor, size: int, vocab_size: int) -> Tensor:
    """Which tokens would repeat an n-gram of ``size`` tokens: bool (B, V), True where one would.

    ids: int (B, L), the texts so far. Paulus et al. 2018, section 2.5, for any size.
    """
    banned = torch.zeros(len(ids), vocab_size, dtype=torch.bool)
    if ids.shape[1] >= size:
        ngrams = ids.cpu().unfold(1, size, 1)  # (B, n-grams, size)
        end = ids[:, ids.shape[1] - size + 1 :].cpu()
        rows, places = (ngrams[..., :-1] == end[:, None]).all(dim=-1).nonzero(as_tuple=True)
        banned[rows, ngrams[rows, places, -1]] = True
    return banned.to(ids.device)


@dataclass(frozen=True)
class Decoding:
    """How to generate.

    max_new: the most tokens to add. end: the token that ends a text; None for none.
    temperature: sample, with ``seed``, from logits divided by it; None takes the likeliest token.
    beams: width of the beam search, 1 for none, whose texts are ranked by log-probability / length.
    no_repeat: no n-gram of this size occurs twice in prompt and text. banned: tokens that are
    never generated. cache: keep keys and values, where the model supports it.
    Raises ValueError, one line, for values out of range.
    """

    max_new: int
    end: int | None = None
    temperature: float | None = None
    seed: int = 0
    beams: int = 1
    no_repeat: int | None = None
    banned: tuple[int, ...] = ()
    cache: bool = True

    def __post_init__(self) -> None:
        if self.max_new < 1:
            raise ValueError(f"the number of new tokens must be 1 or more, not {self.max_new}")
        if self.beams < 1:
            raise ValueError(f"the number of beams must be 1 or more, not {self.beams}")
        if self.temperature is not None and not 0 < self.temperature < float("inf"):
            raise ValueError(f"temperature must be above 0, not {self.temperature}")
        if self.beams > 1 and self.temperature is not None:
            raise ValueError("beam search takes the likeliest texts and samples none: choose one")
        if self.no_repeat is not None and self.no_repeat < 1:
            raise ValueError(f"no-repeat must be 1 or more tokens, not {self.no_repeat}")

    def allowed(self, ids: Tensor, scores: Tensor) -> Tensor:
        """The scores (N, V) of what follows ids (N, L), -inf for what must not be generated."""
        scores = scores.clone()
        scores[:, list(self.banned)] = -torch.inf
        if self.no_repeat is not None:
            again = repeats(ids, self.no_repeat, scores.shape[1])
            scores.masked_fill_(again, -torch.inf)
        return scores


@dataclass(frozen=True)
class Generation:
    """The new tokens of one text, without the one that ends it.

    ended: whether that token was generated; otherwise the text was cut off. log_probability: of
    all new tokens, the end included, under the model itself (nats).
    """

    ids: list[int]
    ended: bool
    log_probability: float


def generate(model: LanguageModel, ids: Tensor, decoding: Decoding) -> list[Generation]:
    """Continue each prompt, ids (B, L), in evaluation mode.

    Raises ValueError, one line, for an empty prompt, or one too long for the model.
    """
    if 0 in ids.shape:
        raise ValueError("the prompt is empty")
    with evaluating(model):
        return _decode(model, decoding, ids)


def transduce(
    model: EncoderDecoder,
    source: Tensor,
    decoding: Decoding,
    *,
    start: int,
    attention_mask: Tensor | None = None,
) -> list[Generation]:
    """Generate the target of each source (B, L), after the token ``start``, in evaluation mode.

    attention_mask: bool (B, L), True where a token is real, None: all; padding may stand on either
    side. Raises ValueError, one line, for an empty source, or one too long for the model.
    """
    if attention_mask is None:
        attention_mask = torch.ones_like(source, dtype=torch.bool)
    if not attention_mask.any(dim=1).all():
        raise ValueError("a source is empty")
    longest = model.encoder.max_length
    if longest is not None and source.shape[1] > longest:
        raise ValueError(f"a source of {source.shape[1]} tokens: the model reads {longest} at most")
    whole = Tokens.whole(source.shape[1], source.device)
    tokens = whole if attention_mask.all() else Tokens.of(attention_mask)
    with evaluating(model):
        memory = model.encoder(source, tokens)
        ids = source.new_full((len(source), 1), start)
        return _decode(model, decoding, ids, memory, tokens)


def _decode(
    model: TokenScorer,
    decoding: Decoding,
    ids: Tensor,
    memory: Tensor | None = None,
    memory_tokens: Tokens | None = None,
) -> list[Generation]:
    """Of each text's beams the most probable one, by log-probability / length; or a sample.

    memory, memory_tokens: what cross-attention reads. A finished text leaves the beam, which
    continues with one place less (Sutskever et al. 2014, section 3.2): one beam is greedy decoding,
    and enough beams are an exhaustive search.
    """
    (batch, prompt), beams = ids.shape, decoding.beams
    longest = model.decoder.max_length
    if longest is not None and prompt + decoding.max_new > longest:
        raise ValueError(
            f"{prompt} tokens and {decoding.max_new} new ones: the model takes {longest}"
        )
    cache = model.decoder.new_cache() if decoding.cache and model.decoder.caches else None
    generator = torch.Generator().manual_seed(decoding.seed)
    best = [(-torch.inf, Generation([], False, -torch.inf))] * batch
    texts = torch.arange(batch, device=ids.device)
    if beams > 1:
        copies = texts.repeat_interleave(beams)
        ids = ids[copies]  # (B · beams, L)
        if memory is not None and memory_tokens is not None:
            memory, memory_tokens = memory[copies], memory_tokens.select(copies)
    # Log-probability of each beam, -inf for none: all start as copies of the first.
    totals = torch.full((batch, beams), -torch.inf, device=ids.device)
    totals[:, 0] = 0.0
    place = torch.arange(beams, device=ids.device)
    free = torch.full((batch, 1), beams, device=ids.device)  # by no finished text used up

    def offer(which: Tensor, ended: bool) -> None:
        """Compare the beams in ``which`` (bool (B, beams)) with each text's best so far."""
        for text, beam in which.nonzero().tolist():
            written = ids[text * beams + beam, prompt:].tolist()
            total = totals[text, beam].item()
            # The token that ends a text counts in its length.
            rank = total / max(1, len(written) + ended)
            if rank > best[text][0]:
                best[text] = rank, Generation(written, ended, total)

    for _ in range(decoding.max_new):
        start = 0 if cache is None else cache.length
        tokens = Tokens.whole(ids.shape[1], ids.device)[start:]
        x = model.decoder(ids[:, start:], tokens, memory, memory_tokens, cache=cache)
        logits = model.logits(x[:, -1])
        logits = logits.float() if logits.dtype.itemsize < 4 else logits
        scores = decoding.allowed(ids, logits.log_softmax(dim=-1)).unflatten(0, (batch, beams))
        # Where no token is allowed, the text stops.
        offer((scores == -torch.inf).all(dim=2) & (totals > -torch.inf), ended=False)
        if decoding.temperature is not None:
            chosen = sample(scores[:, 0], decoding.temperature, generator)[:, None]
            totals = totals + scores[:, 0].gather(1, chosen)
        else:
            likeliest, choices = scores.topk(min(beams, scores.shape[2]), dim=2)
            totals, picks = (totals[:, :, None] + likeliest).flatten(1).topk(beams, dim=1)
            totals = totals.masked_fill(place >= free, -torch.inf)
            chosen = choices.flatten(1).gather(1, picks)  # (B, beams)
        if beams > 1:
            kept = (texts[:, None] * beams + picks // likeliest.shape[2]).flatten()
            ids = ids[kept]
            if cache is not None:
                cache.select(kept)
        if decoding.end is not None:
            finished = (chosen == decoding.end) & (totals > -torch.inf)
            offer(finished, ended=True)
            free = free - finished.sum(dim=1, keepdim=True)
            totals = totals.masked_fill(finished, -torch.inf)
        if not (totals > -torch.inf).any():
            break
        ids = torch.cat([ids, chosen.reshape(-1, 1)], dim=1)
    else:
        offer(totals > -torch.inf, ended=False)
    return [generation for _, generation in best]
