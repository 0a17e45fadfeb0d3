"""Generate texts with a language model or an encoder-decoder."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.models.architectures import EncoderDecoder, LanguageModel, TokenScorer, evaluating


@dataclass(frozen=True)
class Sampling:
    """How to sample: first temperature, then top-k, then top-p.

    temperature: logits are divided by it; above 0. top_k: only the k likeliest tokens. top_p: only
    the smallest set of tokens with this total probability (Holtzman et al. 2020, section 3.1).
    Raises ValueError, one line, for values out of range.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.temperature < float("inf"):
            raise ValueError(f"temperature must be above 0, not {self.temperature}")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top-k must be 1 or more, not {self.top_k}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ValueError(f"top-p must be above 0 and at most 1, not {self.top_p}")

    def probabilities(self, scores: Tensor) -> Tensor:
        """Scores (B, V), -inf for forbidden tokens, to the probabilities (B, V) to sample from."""
        scores = scores / self.temperature
        if self.top_k is not None and self.top_k < scores.shape[-1]:
            likeliest = scores.topk(self.top_k, dim=-1)
            scores = torch.full_like(scores, -torch.inf).scatter(
                -1, likeliest.indices, likeliest.values
            )
        if self.top_p is not None and self.top_p < 1:
            sorted_probabilities, order = scores.softmax(dim=-1).sort(
                dim=-1, descending=True, stable=True
            )
            before = sorted_probabilities.cumsum(dim=-1) - sorted_probabilities
            enough = before >= self.top_p
            scores = scores.masked_fill(enough.scatter(-1, order, enough), -torch.inf)
        return scores.softmax(dim=-1)

    def sample(self, scores: Tensor, generator: torch.Generator) -> Tensor:
        """A token (B) for each row of scores (B, V), by one random number per row.

        Computed on the CPU, so that one seed gives the same tokens on every device.
        """
        sums = self.probabilities(scores.cpu().double()).cumsum(dim=-1)
        drawn = torch.rand(len(sums), 1, generator=generator, dtype=torch.float64)
        tokens = torch.searchsorted(sums, drawn * sums[:, -1:], right=True)[:, 0]
        return tokens.clamp_max(sums.shape[-1] - 1).to(scores.device)


def repeats(ids: Tensor, attention_mask: Tensor | None, size: int, vocab_size: int) -> Tensor:
    """Which tokens would repeat an n-gram of ``size`` tokens: bool (B, V), True where one would.

    ids, attention_mask (bool, True where real, None: all): (B, L), the texts so far. Paulus et al.
    2018, section 2.5, for any size.
    """
    banned = torch.zeros(len(ids), vocab_size, dtype=torch.bool)
    texts = ids.cpu()
    real = torch.ones_like(texts, dtype=torch.bool) if attention_mask is None else attention_mask
    for row, (text, mask) in enumerate(zip(texts, real.cpu(), strict=True)):
        words = text[mask]
        if len(words) < size:
            continue
        ngrams = words.unfold(0, size, 1)  # (n-grams, size)
        same = (ngrams[:, :-1] == words[len(words) - size + 1 :]).all(dim=1)
        banned[row, ngrams[same, -1]] = True
    return banned.to(ids.device)


@dataclass(frozen=True)
class Decoding:
    """How to generate.

    max_new: the most tokens to add. end: the token that ends a text; None for none.
    sampling: how to sample; None takes the likeliest token. beams: width of the beam search, 1 for
    none, whose texts are ranked by log-probability / length.
    no_repeat: no n-gram of this size occurs twice in prompt and text. banned: tokens that are
    never generated. cache: whether to keep keys and values; None where the model supports it.
    Raises ValueError, one line, for values out of range.
    """

    max_new: int
    end: int | None = None
    sampling: Sampling | None = None
    beams: int = 1
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


class Hypotheses:
    """A batch of texts that grows by one token a step.

    ids: int (B, L), the prompts. attention_mask: bool (B, L), True where a token is real, None
    where all are. Padding may stand anywhere: a token's position is the number of real tokens
    before it. memory, memory_tokens: what cross-attention reads.
    """

    def __init__(
        self,
        model: TokenScorer,
        decoding: Decoding,
        ids: Tensor,
        attention_mask: Tensor | None,
        memory: Tensor | None = None,
        memory_tokens: Tokens | None = None,
    ) -> None:
        self.model, self.decoding = model, decoding
        self.ids, self.attention_mask = ids, attention_mask
        self.memory, self.memory_tokens = memory, memory_tokens
        cached = model.decoder.caches if decoding.cache is None else decoding.cache
        self.cache = model.decoder.new_cache() if cached else None

    def scores(self) -> Tensor:
        """The log-probability of each next token (B, V), in float32 or wider."""
        tokens = text_tokens(self.ids, self.attention_mask)
        start = 0 if self.cache is None else self.cache.length
        if start:
            tokens = tokens[start:]
        x = self.model.decoder(
            self.ids[:, start:], tokens, self.memory, self.memory_tokens, cache=self.cache
        )
        if tokens.attention_mask is None:
            last = x[:, -1]
        else:
            index = torch.arange(x.shape[1], device=x.device)
            last_real = torch.where(tokens.attention_mask, index, 0).amax(dim=1)
            last = x[torch.arange(len(x), device=x.device), last_real]
        logits = self.model.logits(last)
        if logits.dtype.itemsize < 4:
            logits = logits.float()
        return logits.log_softmax(dim=-1)

    def allowed(self, scores: Tensor) -> Tensor:
        """A copy of the scores (B, V) with -inf for each token that must not be generated."""
        scores, size = scores.clone(), self.decoding.no_repeat
        if self.decoding.banned:
            scores[:, list(self.decoding.banned)] = -torch.inf
        if size is not None:
            again = repeats(self.ids, self.attention_mask, size, scores.shape[1])
            scores.masked_fill_(again, -torch.inf)
        return scores

    def append(self, tokens: Tensor) -> None:
        """One more token (B) for every text, also for those that have ended: nothing reads them."""
        tokens = tokens[:, None]
        self.ids = torch.cat([self.ids, tokens], dim=1)
        if self.attention_mask is not None:
            real = torch.ones_like(tokens, dtype=torch.bool)
            self.attention_mask = torch.cat([self.attention_mask, real], dim=1)

    def select(self, texts: Tensor) -> None:
        """Continue with these texts of the batch (int (B')), each as often as it is named."""
        self.ids = self.ids[texts]
        if self.attention_mask is not None:
            self.attention_mask = self.attention_mask[texts]
        if self.memory is not None and self.memory_tokens is not None:
            self.memory = self.memory[texts]
            self.memory_tokens = self.memory_tokens.select(texts)
        if self.cache is not None:
            self.cache.select(texts)


def text_tokens(ids: Tensor, attention_mask: Tensor | None) -> Tokens:
    """The tokens of ids (B, L), with positions that count real tokens only."""
    if attention_mask is None:
        return Tokens.whole(ids.shape[1], ids.device)
    return Tokens(attention_mask, (attention_mask.cumsum(dim=1) - 1).clamp_min(0))


def beam_search(texts: Hypotheses) -> list[Generation]:
    """The most probable text of each beam, by log-probability / length.

    A finished text leaves the beam, which continues with one place less (Sutskever et al. 2014,
    section 3.2), so that one beam is greedy decoding and enough beams are an exhaustive search.
    """
    batch, prompt = texts.ids.shape
    beams, end = texts.decoding.beams, texts.decoding.end
    best = [(-torch.inf, Generation([], False, -torch.inf))] * batch
    scores = texts.scores()
    device, vocabulary = scores.device, scores.shape[1]
    first = torch.arange(batch, device=device)[:, None] * beams  # (B, 1), each text's first beam
    texts.select(torch.arange(batch, device=device).repeat_interleave(beams))
    scores = scores.repeat_interleave(beams, dim=0)  # (B * beams, V)
    # Log-probability of each beam (B, beams), -inf for none: all start as copies of the first.
    totals = scores.new_full((batch, beams), -torch.inf)
    totals[:, 0] = 0.0
    free = torch.full_like(first, beams)  # (B, 1), places that no finished text has used up
    place = torch.arange(beams, device=device)

    def offer(which: Tensor, ended: bool) -> None:
        """Compare the beams in ``which`` (bool (B, beams)) with each text's best so far."""
        for text, beam in which.nonzero().tolist():
            ids = texts.ids[text * beams + beam, prompt:].tolist()
            total = totals[text, beam].item()
            # The token that ends a text counts in its length.
            rank = total / max(1, len(ids) + ended)
            if rank > best[text][0]:
                best[text] = rank, Generation(ids, ended, total)

    for step in range(texts.decoding.max_new):
        scores = texts.allowed(scores if step == 0 else texts.scores()).unflatten(0, (batch, beams))
        # Where no token is allowed, the text stops.
        offer((scores == -torch.inf).all(dim=2) & (totals > -torch.inf), False)
        sums = totals[:, :, None] + scores
        totals, picks = sums.flatten(1).topk(beams, dim=1)
        totals = totals.masked_fill(place >= free, -torch.inf)
        tokens = picks % vocabulary
        texts.select((first + picks // vocabulary).flatten())
        if end is not None:
            finished = (tokens == end) & (totals > -torch.inf)
            offer(finished, True)
            free = free - finished.sum(dim=1, keepdim=True)
            totals = totals.masked_fill(finished, -torch.inf)
        if not (totals > -torch.inf).any():
            break
        texts.append(tokens.flatten())
    else:
        offer(totals > -torch.inf, False)
    return [generation for _, generation in best]


def generate(
    model: LanguageModel, ids: Tensor, decoding: Decoding, *, attention_mask: Tensor | None = None
) -> list[Generation]:
    """Continue each prompt: ids (B, L); attention_mask: bool (B, L), True where real, None: all.

    Padding on either side of a prompt changes nothing. The model runs in evaluation mode. Raises
    ValueError, one line, for an empty prompt, or one too long for the model.
    """
    attention_mask = _checked(ids, attention_mask, "prompt")
    with evaluating(model):
        return _decode(Hypotheses(model, decoding, ids, attention_mask))


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
    with evaluating(model):
        tokens = text_tokens(source, attention_mask)
        memory = model.encoder(source, tokens)
        ids = source.new_full((len(source), 1), start)
        return _decode(Hypotheses(model, decoding, ids, None, memory, tokens))


def _decode(texts: Hypotheses) -> list[Generation]:
    """One token a step for every text that has not ended; beam search with several beams."""
    decoding, (batch, prompt) = texts.decoding, texts.ids.shape
    longest = texts.model.decoder.max_length
    if longest is not None and prompt + decoding.max_new > longest:
        raise ValueError(
            f"{prompt} tokens and {decoding.max_new} new ones: the model takes {longest}"
        )
    if decoding.beams > 1:
        return beam_search(texts)
    sampling = decoding.sampling
    generator = torch.Generator().manual_seed(sampling.seed if sampling else 0)
    written: list[list[int]] = [[] for _ in range(batch)]
    total = [0.0] * batch
    going, ended = set(range(batch)), set[int]()
    for step in range(decoding.max_new):
        scores = texts.scores()
        allowed = texts.allowed(scores)
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
