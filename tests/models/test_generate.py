"""Generation compared with slow loops without a cache or a batch."""

import math
from typing import Any

import pytest
import torch
from references import shake
from small_models import (
    CACHING,
    ENCODINGS,
    assert_cache_changes_nothing,
    assert_generations,
    encoder_decoder,
    language_model,
    padded,
    some_ids,
    write,
)
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.models.architectures import EncoderDecoder, LanguageModel
from zoo.models.decoding import Decoding, Generation, generate, repeats, sample

TEXTS = [[3, 1, 4, 1], [2, 6], [5, 3, 5]]
SIDES = pytest.mark.parametrize("side", ["left", "right"])


@torch.no_grad()
def scores_after(
    model: LanguageModel | EncoderDecoder, text: list[int], source: list[int] | None = None
) -> Tensor:
    """The log-probability of each next token (V): one text, all of it, no cache.

    source: of a translation.
    """
    texts = [text] if source is None else [source, text]
    out = model(*(x for t in texts for x in (torch.tensor([t]), Tokens.whole(len(t)))))
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
def test_greedy_with_cache_and_without_is_the_slow_loop(registry, attention, pe, side):
    model = shake(language_model(registry, attention=attention, pe=pe)).eval()
    ids, tokens = padded(TEXTS, side)
    end = common_token(model)
    expected = [greedily(model, text, 8, end) for text in TEXTS]
    for cache in (True, False):
        written = write(model, ids, tokens.attention_mask, max_new=8, end=end, cache=cache)
        assert_generations(written, expected)


@pytest.mark.parametrize(("beams", "side"), [(1, "left"), (3, "right")])
@pytest.mark.parametrize("pe", ENCODINGS)
def test_drawing_and_beams_give_the_same_with_cache_and_without(registry, pe, beams, side):
    drawn = {"temperature": 1.5, "seed": 3} if beams == 1 else {"beams": beams}
    options: dict[str, Any] = {"max_new": 7, "end": 2, **drawn}
    ids, tokens = padded(TEXTS, side)
    for build in (language_model, encoder_decoder):
        model = shake(build(registry, pe=pe)).eval()
        assert_cache_changes_nothing(model, ids, tokens.attention_mask, **options)


@SIDES
@pytest.mark.parametrize("beams", [1, 4])
def test_a_text_in_a_batch_is_written_as_it_is_alone(registry, beams, side):
    options: dict[str, Any] = {"max_new": 6, "end": 2, "beams": beams, "no_repeat": 2}
    ids, tokens = padded(TEXTS, side)
    batches = {
        language_model: (some_ids(3, 4), None),
        encoder_decoder: (ids, tokens.attention_mask),
    }
    for build, (texts, mask) in batches.items():
        model = shake(build(registry)).eval()
        each = texts if mask is None else map(torch.tensor, TEXTS)
        alone = [write(model, text[None], **options)[0] for text in each]
        assert_generations(write(model, texts, mask, **options), alone)


def exhaustively(model: Any, start: list[int], source: list[int] | None) -> tuple[float, list[int]]:
    """Every text of 4 tokens that there can be, scored one by one: the best rank, and its tokens.

    There are 4 tokens, of which 2 is the end.
    """
    best = (-math.inf, [-1])
    stack: list[tuple[list[int], float]] = [([], 0.0)]
    while stack:
        text, total = stack.pop()
        scores = scores_after(model, [*start, *text], source)
        for token in range(4):
            longer = ([*text, token], total + float(scores[token]))
            if token == 2 or len(longer[0]) == 4:
                best = max(best, (longer[1] / len(longer[0]), text if token == 2 else longer[0]))
            else:
                stack.append(longer)
    return best


@pytest.mark.parametrize(
    ("build", "start", "source"),
    [(language_model, [1, 3], None), (encoder_decoder, [1], [3, 1, 2])],
    ids=["text", "translation"],
)
def test_enough_beams_find_the_best_text_there_is(registry, build, start, source):
    model = shake(build(registry, vocab_size=4)).eval()
    best, text = exhaustively(model, start, source)
    (written,) = write(model, torch.tensor([source or start]), max_new=4, end=2, beams=64)
    assert written.ids == text
    rank = written.log_probability / (len(written.ids) + written.ended)
    assert rank == pytest.approx(best, abs=1e-9)


def test_what_was_written_has_the_probability_the_model_gives_it(registry):
    model = shake(language_model(registry)).eval()
    for decoding in (
        Decoding(max_new=6, banned=(4,), no_repeat=1),
        Decoding(max_new=6, temperature=3.0),
        Decoding(max_new=6, end=2, beams=4, no_repeat=2),
    ):
        (written,) = generate(model, torch.tensor([TEXTS[0]]), decoding)
        total, text = 0.0, list(TEXTS[0])
        for token in [*written.ids, *([decoding.end] if written.ended else [])]:
            total += float(scores_after(model, text)[token])
            text.append(token)
        assert written.log_probability == pytest.approx(total, abs=1e-9)


def runs(text: list[int], size: int) -> list[tuple[int, ...]]:
    return [tuple(text[i : i + size]) for i in range(len(text) - size + 1)]


def test_a_text_that_may_go_on_with_nothing_stops(registry):
    model = shake(language_model(registry, vocab_size=6)).eval()
    for beams in (1, 2):
        prompts = torch.tensor([[1, 3], [2, 2]])
        written = write(model, prompts, max_new=9, no_repeat=1, beams=beams)
        assert sorted(written[0].ids) == [0, 2, 4, 5]
        assert sorted(written[1].ids) == [0, 1, 3, 4, 5]
        assert not written[0].ended


def test_repeats_are_those_found_by_comparing_every_run():
    texts = [[1, 2, 3, 1, 2, 3, 1], [1, 1, 1, 1, 3, 1, 1]]
    for size in (1, 2, 3, 4, 8, 9):
        banned = repeats(torch.tensor(texts), size, 5)
        for row, text in enumerate(texts):
            expected = [runs([*text, t], size)[-1:] for t in range(5)]
            seen = set(runs(text, size))
            assert banned[row].tolist() == [bool(e) and e[0] in seen for e in expected]


def test_banned_tokens_never_come(registry):
    model = shake(language_model(registry)).eval()
    (free,) = write(model, some_ids(1, 3), max_new=8)
    banned = tuple(set(free.ids))
    for options in ({}, {"beams": 3}, {"temperature": 5.0}):
        (written,) = write(model, some_ids(1, 3), max_new=8, banned=banned, **options)
        assert not set(written.ids) & set(banned)


def test_tokens_are_drawn_as_often_as_they_are_probable():
    scores = 2 * torch.tensor([0.5, 0.3, 0.15, 0.05, 0.0]).log().expand(20_000, -1)
    drawn = sample(scores, 2.0, torch.Generator().manual_seed(0))
    shares = torch.bincount(drawn, minlength=5) / 20_000
    # Five standard deviations of the commonest
    assert shares.tolist() == pytest.approx([0.5, 0.3, 0.15, 0.05, 0.0], abs=0.018)
    assert shares[4] == 0


def test_a_seed_repeats_and_another_does_not(registry):
    model = language_model(registry).eval()
    torch.manual_seed(5)
    before = torch.get_rng_state()

    def written(seed: int) -> list[int]:
        prompt = torch.tensor([[1, 2]])
        return write(model, prompt, max_new=12, temperature=1.0, seed=seed)[0].ids

    assert written(1) == written(1)
    assert written(1) != written(2)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_cold_temperature_is_greedy(registry):
    model = shake(language_model(registry)).eval()
    expected = write(model, some_ids(3, 4), max_new=6)
    assert_generations(write(model, some_ids(3, 4), max_new=6, temperature=1e-4), expected)


def test_a_model_writes_as_in_evaluation_and_is_left_as_it_was(registry):
    model = shake(language_model(registry, dropout=0.5, attention_dropout=0.5)).eval()
    expected = write(model, some_ids(2, 4), max_new=6)
    model.train()
    model.decoder.blocks[0].eval()
    modes = [module.training for module in model.modules()]
    assert_generations(write(model, some_ids(2, 4), max_new=6), expected)
    assert [module.training for module in model.modules()] == modes
    with pytest.raises(ValueError, match="empty"):
        write(model, torch.zeros(1, 0, dtype=torch.long), max_new=6)
    assert [module.training for module in model.modules()] == modes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_new": 0}, "the number of new tokens must be 1 or more, not 0"),
        ({"beams": 0}, "the number of beams must be 1 or more, not 0"),
        ({"no_repeat": 0}, "no-repeat must be 1 or more tokens, not 0"),
        ({"beams": 2, "temperature": 1.0}, "beam search .* choose one"),
        *(
            ({"temperature": value}, f"temperature must be above 0, not {value}")
            for value in (0.0, -1.0, math.nan, math.inf)
        ),
    ],
)
def test_invalid_decoding_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Decoding(**{"max_new": 1, **options})


EMPTY = torch.zeros(1, 0, dtype=torch.long)
NOTHING = torch.tensor([[True, True], [False, False]])


@pytest.mark.parametrize(
    ("build", "ids", "options", "message"),
    [
        (language_model, EMPTY, {}, "prompt is empty"),
        (language_model, some_ids(1, 14), {"max_new": 3}, "14 tokens and 3 new ones: .* takes 16"),
        (encoder_decoder, EMPTY, {}, "a source is empty"),
        (encoder_decoder, some_ids(2, 2), {"mask": NOTHING}, "a source is empty"),
        (encoder_decoder, some_ids(1, 17), {}, "a source of 17 tokens: the model reads 16"),
        (encoder_decoder, some_ids(1, 3), {"max_new": 16}, "1 tokens and 16 new ones: .* takes 16"),
    ],
)
def test_invalid_prompts_are_refused(registry, build, ids, options, message):
    with pytest.raises(ValueError, match=message):
        write(build(registry, pe="learned"), ids, **{"max_new": 1, **options})


def test_a_text_may_be_as_long_as_its_encoding_lets_it(registry):
    for pe, new in (("learned", 2), ("rope", 9)):
        model = language_model(registry, pe=pe)
        assert len(write(model, some_ids(1, 14), max_new=new)[0].ids) == new
