"""Generation compared with slow loops without a cache or a batch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from references import shake
from small_models import CACHING, ENCODINGS, encoder_decoder, language_model, padded, some_ids
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.models.architectures import EncoderDecoder, LanguageModel
from zoo.models.decoding import Decoding, Generation, Sampling, generate, repeats, transduce
from zoo.registry import Registry

TEXTS = [[3, 1, 4, 1], [2, 6], [5, 3, 5]]
SIDES = pytest.mark.parametrize("side", ["left", "right"])


@torch.no_grad()
def scores_after(model: LanguageModel, text: list[int]) -> Tensor:
    """The log-probability of each next token (V): one text, all of it, no cache."""
    out = model(torch.tensor([text]), Tokens.whole(len(text)))
    return out[0, -1].log_softmax(dim=-1)


@torch.no_grad()
def scores_of_target(model: EncoderDecoder, source: list[int], text: list[int]) -> Tensor:
    """Likewise, of a translation begun."""
    out = model(
        torch.tensor([source]),
        Tokens.whole(len(source)),
        torch.tensor([text]),
        Tokens.whole(len(text)),
    )
    return out[0, -1].log_softmax(dim=-1)


def greedily(model: LanguageModel, text: list[int], steps: int, end: int | None) -> Generation:
    """The reference: the likeliest token, again and again."""
    written: list[int] = []
    total = 0.0
    for _ in range(steps):
        scores = scores_after(model, text + written)
        token = int(scores.argmax())
        total += float(scores[token])
        if token == end:
            return Generation(written, True, total)
        written.append(token)
    return Generation(written, False, total)


def assert_generations(ours: list[Generation], expected: list[Generation]) -> None:
    assert [(one.ids, one.ended) for one in ours] == [(one.ids, one.ended) for one in expected]
    for one, other in zip(ours, expected, strict=True):
        assert one.log_probability == pytest.approx(other.log_probability, abs=1e-9)


def common_token(model: LanguageModel, steps: int = 8) -> int:
    """A token that ends some of the texts early, and not all of them at once."""
    texts = [greedily(model, text, steps, None).ids for text in TEXTS]
    return texts[0][3]


@SIDES
@pytest.mark.parametrize(
    ("attention", "pe"),
    # Every attention and encoding with a cache equals all at once: see test_decoder.py.
    [
        *zip(CACHING, ENCODINGS, strict=True),
        ("torch", "sin"),
        ("torch", "alibi"),
        ("fused", "rope"),
    ],
)
def test_greedy_with_cache_and_without_is_the_slow_loop(
    registry: Registry, attention: str, pe: str, side: str
) -> None:
    model = shake(language_model(registry, attention=attention, pe=pe)).eval()
    ids, tokens = padded(TEXTS, side)
    end = common_token(model)
    expected = [greedily(model, text, 8, end) for text in TEXTS]
    for cache in (None, False) if attention == "torch" else (True, False, None):
        decoding = Decoding(max_new=8, end=end, cache=cache)
        assert_generations(
            generate(model, ids, decoding, attention_mask=tokens.attention_mask), expected
        )


@pytest.mark.parametrize(("beams", "side"), [(1, "left"), (3, "right")])
@pytest.mark.parametrize("pe", ENCODINGS)
def test_drawing_and_beams_give_the_same_with_cache_and_without(
    registry: Registry, pe: str, beams: int, side: str
) -> None:
    sampling = Sampling(temperature=1.5, top_k=9, top_p=0.95, seed=3) if beams == 1 else None
    options: dict[str, Any] = {"max_new": 7, "end": 2, "beams": beams, "sampling": sampling}
    model = shake(language_model(registry, pe=pe)).eval()
    ids, tokens = padded(TEXTS, side)
    with_cache, without = (
        generate(model, ids, Decoding(**options, cache=cache), attention_mask=tokens.attention_mask)
        for cache in (True, False)
    )
    assert_generations(with_cache, without)
    translator = shake(encoder_decoder(registry, pe=pe)).eval()
    with_cache, without = (
        transduce(
            translator,
            ids,
            Decoding(**options, cache=cache),
            start=1,
            attention_mask=tokens.attention_mask,
        )
        for cache in (True, False)
    )
    assert_generations(with_cache, without)


@SIDES
@pytest.mark.parametrize("beams", [1, 4])
def test_a_text_in_a_padded_batch_is_written_as_it_is_alone(
    registry: Registry, beams: int, side: str
) -> None:
    ids, tokens = padded(TEXTS, side)
    decoding = Decoding(max_new=6, end=2, beams=beams, no_repeat=2)
    model = shake(language_model(registry)).eval()
    alone = [generate(model, torch.tensor([text]), decoding)[0] for text in TEXTS]
    assert_generations(generate(model, ids, decoding, attention_mask=tokens.attention_mask), alone)
    translator = shake(encoder_decoder(registry)).eval()
    alone = [transduce(translator, torch.tensor([t]), decoding, start=1)[0] for t in TEXTS]
    assert_generations(
        transduce(translator, ids, decoding, start=1, attention_mask=tokens.attention_mask), alone
    )


def exhaustively(
    score: Callable[..., Tensor], about: tuple[Any, ...], start: list[int]
) -> tuple[float, list[int]]:
    """Every text of 4 tokens that there can be, scored one by one: the best rank, and its tokens.

    There are 4 tokens, of which 2 is the end.
    """
    steps, end, vocabulary = 4, 2, 4
    best = (-math.inf, [-1])
    stack: list[tuple[list[int], float]] = [([], 0.0)]
    while stack:
        text, total = stack.pop()
        scores = score(*about, [*start, *text])
        for token in range(vocabulary):
            one = ([*text, token], total + float(scores[token]))
            if token == end or len(one[0]) == steps:
                rank = one[1] / len(one[0])
                best = max(best, (rank, text if token == end else one[0]))
            else:
                stack.append(one)
    return best


def test_enough_beams_find_the_best_text_there_is(registry: Registry) -> None:
    enough = Decoding(max_new=4, end=2, beams=64)
    for seed in range(3):
        model = shake(language_model(registry, vocab_size=4), seed).eval()
        best, text = exhaustively(scores_after, (model,), [1, 3])
        (found,) = generate(model, torch.tensor([[1, 3]]), enough)
        assert found.ids == text
        rank = found.log_probability / (len(found.ids) + found.ended)
        assert rank == pytest.approx(best, abs=1e-9)

        other = shake(encoder_decoder(registry, vocab_size=4), seed).eval()
        best, text = exhaustively(scores_of_target, (other, [3, 1, 2]), [1])
        (found,) = transduce(other, torch.tensor([[3, 1, 2]]), enough, start=1)
        assert found.ids == text


def test_few_beams_find_what_greedy_overlooks_and_the_best_only_sometimes(
    registry: Registry,
) -> None:
    totals = {1: 0.0, 3: 0.0, 200: 0.0}
    for seed in range(8):
        model = shake(language_model(registry, vocab_size=6), seed).eval()
        for beams in totals:
            decoding = Decoding(max_new=4, beams=beams)
            totals[beams] += generate(model, torch.tensor([[1, 3]]), decoding)[0].log_probability
    assert totals[1] < totals[3] <= totals[200]


def test_a_translation_is_greedy_from_the_start_token(registry: Registry) -> None:
    model = shake(encoder_decoder(registry)).eval()
    source = [3, 1, 4]
    (ours,) = transduce(model, torch.tensor([source]), Decoding(max_new=5), start=7)
    text = [7]
    for _ in range(5):
        text.append(int(scores_of_target(model, source, text).argmax()))
    assert ours.ids == text[1:]


def test_what_was_written_has_the_probability_the_model_gives_it(registry: Registry) -> None:
    model = shake(language_model(registry)).eval()
    for decoding in (
        Decoding(max_new=6, banned=(4,), no_repeat=1),
        Decoding(max_new=6, sampling=Sampling(temperature=3.0, top_k=5)),
        Decoding(max_new=6, end=2, beams=4, no_repeat=2),
    ):
        (found,) = generate(model, torch.tensor([TEXTS[0]]), decoding)
        total, text = 0.0, list(TEXTS[0])
        for token in [*found.ids, *([decoding.end] if found.ended else [])]:
            total += float(scores_after(model, text)[token])
            text.append(token)
        assert found.log_probability == pytest.approx(total, abs=1e-9)


def runs(text: list[int], size: int) -> list[tuple[int, ...]]:
    return [tuple(text[i : i + size]) for i in range(len(text) - size + 1)]


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_run_of_tokens_comes_twice(registry: Registry, size: int, beams: int) -> None:
    model = shake(language_model(registry, vocab_size=6, pe="sin")).eval()
    ids, tokens = padded([[1, 2, 1], [3]], "left", garbage=0)
    free = generate(
        model, ids, Decoding(max_new=14, beams=beams), attention_mask=tokens.attention_mask
    )
    bound = generate(
        model,
        ids,
        Decoding(max_new=14, beams=beams, no_repeat=size),
        attention_mask=tokens.attention_mask,
    )
    for prompt, one, other in zip(([1, 2, 1], [3]), bound, free, strict=True):
        # The prompt itself may repeat; what is written adds no repetition.
        whole, given = runs(prompt + one.ids, size), runs(prompt, size)
        assert len(whole) - len(set(whole)) == len(given) - len(set(given))
        repeated = runs(prompt + other.ids, size)
        assert len(repeated) > len(set(repeated))


def test_a_text_that_may_go_on_with_nothing_stops(registry: Registry) -> None:
    model = shake(language_model(registry, vocab_size=6)).eval()
    for beams in (1, 2):
        found = generate(
            model, torch.tensor([[1, 3], [2, 2]]), Decoding(max_new=9, no_repeat=1, beams=beams)
        )
        assert sorted(found[0].ids) == [0, 2, 4, 5]
        assert sorted(found[1].ids) == [0, 1, 3, 4, 5]
        assert not found[0].ended


def test_repeats_are_those_found_by_comparing_every_run() -> None:
    ids, tokens = padded([[1, 2, 3, 1, 2], [2, 2], [1, 1, 1, 1, 3, 1, 1]], "right", garbage=2)
    for size in (1, 2, 3, 4):
        found = repeats(ids, tokens.attention_mask, size, 5)
        for row, text in enumerate(([1, 2, 3, 1, 2], [2, 2], [1, 1, 1, 1, 3, 1, 1])):
            expected = [runs([*text, t], size)[-1:] for t in range(5)]
            seen = set(runs(text, size))
            assert found[row].tolist() == [bool(e) and e[0] in seen for e in expected]


def test_banned_tokens_never_come(registry: Registry) -> None:
    model = shake(language_model(registry)).eval()
    (free,) = generate(model, some_ids(1, 3), Decoding(max_new=8))
    banned = tuple(set(free.ids))
    for options in ({}, {"beams": 3}, {"sampling": Sampling(temperature=5.0)}):
        decoding = Decoding(max_new=8, banned=banned, **options)
        assert not set(generate(model, some_ids(1, 3), decoding)[0].ids) & set(banned)


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(),
        Sampling(temperature=0.5),
        Sampling(top_k=3),
        Sampling(top_k=99),
        Sampling(top_p=0.6),
        Sampling(top_p=1.0),
        Sampling(temperature=2.0, top_k=6, top_p=0.7),
    ],
    ids=str,
)
def test_probabilities_are_those_worked_out_by_hand(sampling: Sampling) -> None:
    scores = torch.randn(20, 8, generator=torch.Generator().manual_seed(0)).double()
    scores[0, 2] = -torch.inf
    for ours, row in zip(sampling.probabilities(scores), scores.tolist(), strict=True):
        powers = {i: math.exp(score / sampling.temperature) for i, score in enumerate(row)}
        likeliest = sorted(powers, key=lambda i: -powers[i])[: sampling.top_k]
        whole, kept, held = sum(powers[i] for i in likeliest), [], 0.0
        for token in likeliest:
            if held < (1.0 if sampling.top_p is None else sampling.top_p):
                kept.append(token)
            held += powers[token] / whole
        total = sum(powers[i] for i in kept)
        expected = [powers[i] / total if i in kept else 0.0 for i in range(8)]
        assert ours.tolist() == pytest.approx(expected, abs=1e-12)


def test_tokens_are_drawn_as_often_as_they_are_probable() -> None:
    scores = torch.tensor([0.5, 0.3, 0.15, 0.05, 0.0]).log().expand(20_000, -1)
    drawn = Sampling().sample(scores, torch.Generator().manual_seed(0))
    shares = torch.bincount(drawn, minlength=5) / 20_000
    # Five standard deviations of the commonest
    assert shares.tolist() == pytest.approx([0.5, 0.3, 0.15, 0.05, 0.0], abs=0.018)
    assert shares[4] == 0


def test_a_seed_repeats_and_another_does_not(registry: Registry) -> None:
    model = language_model(registry).eval()
    torch.manual_seed(5)
    before = torch.get_rng_state()

    def written(seed: int) -> list[int]:
        decoding = Decoding(max_new=12, sampling=Sampling(seed=seed))
        return generate(model, torch.tensor([[1, 2]]), decoding)[0].ids

    assert written(1) == written(1)
    assert written(1) != written(2)
    assert torch.equal(torch.get_rng_state(), before)


def test_top_k_of_one_and_a_cold_temperature_are_greedy(registry: Registry) -> None:
    model = shake(language_model(registry)).eval()
    expected = generate(model, some_ids(3, 4), Decoding(max_new=6))
    for sampling in (Sampling(top_k=1), Sampling(temperature=1e-4), Sampling(top_p=1e-9)):
        decoding = Decoding(max_new=6, sampling=sampling)
        assert_generations(generate(model, some_ids(3, 4), decoding), expected)


def test_a_model_writes_as_in_evaluation_and_is_left_as_it_was(registry: Registry) -> None:
    model = shake(language_model(registry, dropout=0.5, attention_dropout=0.5)).eval()
    expected = generate(model, some_ids(2, 4), Decoding(max_new=6))
    model.train()
    model.decoder.blocks[0].eval()
    modes = [module.training for module in model.modules()]
    assert_generations(generate(model, some_ids(2, 4), Decoding(max_new=6)), expected)
    assert [module.training for module in model.modules()] == modes
    with pytest.raises(ValueError, match="empty"):
        generate(model, torch.zeros(1, 0, dtype=torch.long), Decoding(max_new=6))
    assert [module.training for module in model.modules()] == modes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_new": 0}, "the number of new tokens must be 1 or more, not 0"),
        ({"max_new": -3}, "the number of new tokens must be 1 or more, not -3"),
        ({"max_new": 1, "beams": 0}, "the number of beams must be 1 or more, not 0"),
        ({"max_new": 1, "no_repeat": 0}, "no-repeat must be 1 or more tokens, not 0"),
        ({"max_new": 1, "beams": 2, "sampling": Sampling()}, "beam search .* choose one"),
    ],
)
def test_invalid_decoding_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Decoding(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 0.0}, "temperature must be above 0, not 0.0"),
        ({"temperature": -1.0}, "temperature must be above 0, not -1.0"),
        ({"temperature": math.nan}, "temperature must be above 0, not nan"),
        ({"temperature": math.inf}, "temperature must be above 0, not inf"),
        ({"top_k": 0}, "top-k must be 1 or more, not 0"),
        ({"top_p": 0.0}, "top-p must be above 0 and at most 1, not 0.0"),
        ({"top_p": 1.1}, "top-p must be above 0 and at most 1, not 1.1"),
        ({"top_p": math.nan}, "top-p must be above 0 and at most 1, not nan"),
    ],
)
def test_invalid_sampling_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sampling(**options)


def test_invalid_prompts_are_refused(registry: Registry) -> None:
    model, one = language_model(registry, pe="learned"), Decoding(max_new=1)
    nothing = torch.tensor([[True, True], [False, False]])
    for ids, attention_mask, message in (
        (torch.zeros(1, 0, dtype=torch.long), None, "prompt 1 of 1 is empty"),
        (some_ids(2, 2), nothing, "prompt 2 of 2 is empty"),
        (some_ids(4), None, r"a batch of prompts is \(texts, tokens\), not \(4,\)"),
        (some_ids(2, 3), nothing, r"attention_mask \(2, 2\) for prompts of \(2, 3\)"),
    ):
        with pytest.raises(ValueError, match=message):
            generate(model, ids, one, attention_mask=attention_mask)
    with pytest.raises(ValueError, match="14 tokens and 3 new ones: the model takes 16"):
        generate(model, some_ids(1, 14), Decoding(max_new=3))
    assert len(generate(model, some_ids(1, 14), Decoding(max_new=2))[0].ids) == 2
    # An encoding that knows every position has no such limit.
    unbound = language_model(registry, pe="rope")
    assert len(generate(unbound, some_ids(1, 14), Decoding(max_new=9))[0].ids) == 9
    translator = encoder_decoder(registry, pe="learned")
    with pytest.raises(ValueError, match="source 1 of 1 is empty"):
        transduce(translator, torch.zeros(1, 0, dtype=torch.long), one, start=1)
    with pytest.raises(ValueError, match="a source of 17 tokens: the model reads 16 at most"):
        transduce(translator, some_ids(1, 17), one, start=1)
    with pytest.raises(ValueError, match="1 tokens and 16 new ones: the model takes 16"):
        transduce(translator, some_ids(1, 3), Decoding(max_new=16), start=1)
    with pytest.raises(ValueError, match="keeps no cache"):
        generate(
            language_model(registry, attention="torch", pe="sin"),
            some_ids(1, 3),
            Decoding(max_new=1, cache=True),
        )
