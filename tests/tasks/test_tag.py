"""Tagging: scores as scikit-learn computes them, what does not count, groups."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score
from small_runs import DEFAULT_CELL, SIZES, bench

from zoo.components.tokens import Tokens
from zoo.config.settings import Execution, Training
from zoo.config.sizes import Sizes
from zoo.data.batches import PaddedSplit
from zoo.data.encoding import encode_labelled
from zoo.data.sources.corpus import IGNORED, Examples, TaggedCorpus
from zoo.errors import ZooError
from zoo.registry import Owner, Register, Registry
from zoo.registry.cell import Cell
from zoo.registry.loading import built_ins, load
from zoo.sweep.make_request import make_request
from zoo.sweep.plan import make_plan
from zoo.tasks.base import Evaluation, TaskSetup
from zoo.tasks.metrics import is_bio
from zoo.tasks.tag import Tag, TagOptions, effective_examples, tag_evaluation
from zoo.training.device import resolve

TASK = Tag()
RUNTIME = resolve(Execution(device="cpu"))
TAG: dict[str, Any] = {"task": "tag", "batch_size": 16, "epochs": 2, **SIZES, "phases": ("train",)}
NAMES = ["O", "B-PER", "I-PER", "B-LOC"]


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load().registry


def values(evaluation: Evaluation, registry: Registry, names: Sequence[str]) -> dict[str, float]:
    metrics = TASK.metrics_from(registry, names)
    return {metric.description.name: metric.compute(evaluation.outputs) for metric in metrics}


def drawn(texts: int, seed: int = 0) -> tuple[list[np.ndarray], list[np.ndarray]]:
    draw = np.random.default_rng(seed)
    lengths = draw.integers(1, 9, texts)
    tags = [draw.choice(4, size=n, p=[0.5, 0.2, 0.2, 0.1]) for n in lengths]
    wrong = [np.where(draw.random(len(t)) < 0.3, draw.integers(0, 4, len(t)), t) for t in tags]
    return wrong, tags


def test_scores_equal_those_of_scikit_learn(registry):
    predicted, tags = drawn(60)
    scores = values(tag_evaluation(predicted, tags, NAMES), registry, NAMES)
    true, guess = np.concatenate(tags), np.concatenate(predicted)
    assert scores["token_accuracy"] == pytest.approx((true == guess).mean())
    assert scores["macro_f1"] == pytest.approx(f1_score(true, guess, average="macro"))


@pytest.mark.parametrize("texts", [2, 60])
def test_the_effective_number_of_tokens_is_that_of_an_error_over_texts(texts):
    import statsmodels.api as sm

    predicted, tags = drawn(texts, seed=texts)
    for row in range(0, texts, 3):  # tokens of one text are alike
        predicted[row] = (tags[row] + 1) % 4
    right = np.concatenate([p == t for p, t in zip(predicted, tags, strict=True)]).astype(float)
    text_of = np.repeat(np.arange(texts), [len(t) for t in tags])
    fitted = sm.OLS(right, np.ones(len(right))).fit(
        cov_type="cluster", cov_kwds={"groups": text_of}
    )
    share = right.mean()
    details = tag_evaluation(predicted, tags, NAMES).details
    effective = details["effective_examples"]["token_accuracy"]
    expected = share * (1 - share) / fitted.bse[0] ** 2
    assert effective == pytest.approx(min(expected, len(right)))
    assert effective < len(right)


def test_where_all_tokens_are_right_or_there_is_one_text_texts_count():
    assert effective_examples([8, 8, 8], [8, 8, 8]) == 3
    assert effective_examples([0, 0, 0], [8, 8, 8]) == 3
    assert effective_examples([5, 0], [8, 0]) == 1, "a text without a scored token is none"
    assert effective_examples([4, 4, 4], [8, 8, 8]) == 24, "texts do not differ at all"


def test_spans_do_not_run_from_one_text_into_the_next(registry):
    tags = [np.array([0, 1]), np.array([2, 0])]
    whole = [np.array([0, 1, 2, 0])]
    apart = values(tag_evaluation([tags[0], np.array([0, 0])], tags, NAMES), registry, NAMES)
    joined = values(tag_evaluation([np.array([0, 1, 0, 0])], whole, NAMES), registry, NAMES)
    assert apart["span_f1"] == pytest.approx(2 / 3)  # one of two spans
    assert joined["span_f1"] == 0.0  # the only span is cut short


@pytest.mark.parametrize(("guess", "expected"), [([0, 0, 1], 1.0), ([0, 2, 1], (2 / 3 + 1) / 3)])
def test_macro_f1_is_over_the_tags_in_truth_or_predictions(registry, guess, expected):
    evaluation = tag_evaluation([np.array(guess)], [np.array([0, 0, 1])], NAMES)
    assert values(evaluation, registry, NAMES)["macro_f1"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["O", "B-PER", "I-PER"], True),
        (["B-X", "I-X"], True),
        (["O"], False),
        (["O", "I-PER"], False),
        (["NOUN", "VERB"], False),
        (["B-", "O"], False),
        (["O", "B-PER", "E-PER"], False),
        ([], False),
    ],
)
def test_span_f1_applies_to_bio_tags_alone(registry, names, expected):
    assert is_bio(names) is expected
    applied = [metric.description.name for metric in TASK.metrics_from(registry, names)]
    assert applied == ["token_accuracy", "macro_f1", *["span_f1"] * expected]


def test_groups_are_scored_as_if_each_were_alone(registry):
    predicted, tags = drawn(30)
    groups = ["late", "early", "late"] * 10
    evaluation = tag_evaluation(predicted, tags, NAMES, groups)
    assert list(evaluation.groups) == ["late", "early"]
    for group, outputs in evaluation.groups.items():
        rows = [row for row, own in enumerate(groups) if own == group]
        alone = tag_evaluation([predicted[r] for r in rows], [tags[r] for r in rows], NAMES)
        for metric in TASK.metrics_from(registry, NAMES):
            assert metric.compute(outputs) == metric.compute(alone.outputs)
        assert outputs["examples"] == sum(len(tags[row]) for row in rows)


def corpus(texts: int = 80) -> TaggedCorpus:
    """The tag of a token is that of the token before it, which only a causal model may see."""
    draw = random.Random(0)
    tokens = [[f"w{draw.randrange(6)}" for _ in range(draw.randint(3, 9))] for _ in range(texts)]
    tags = [[IGNORED, *(int(token[1:]) for token in text[:-1])] for text in tokens]
    names = [f"t{number}" for number in range(6)]
    cut = texts // 4
    test = Examples(tokens[:cut], tags[:cut], ["a", "b"] * (cut // 2))
    splits = {"train": Examples(tokens[cut:], tags[cut:]), "test": test}
    return TaggedCorpus("shifted", splits, names, word_level=True)


@pytest.fixture(scope="module")
def setup() -> TaskSetup:
    sizes = Sizes(dim=16, heads=2, ffn_dim=32, layers=1, max_length=8, vocab_size=40)
    encoded = encode_labelled(corpus(), 40, 8)
    return TaskSetup(
        TASK, TagOptions(), sizes, Training(), encoded.vocab_size, encoded.label_names, encoded
    )


def test_evaluation_scores_each_text_as_it_would_alone(registry, setup):
    model = TASK.build(setup, Cell.parse(registry, DEFAULT_CELL), seed=0)
    _, test = TASK.splits(setup, RUNTIME.device)
    evaluation = TASK.evaluate(setup, model, test, RUNTIME)
    right = items = 0
    with torch.inference_mode():
        for row in range(len(test)):
            batch = test.batch(np.array([row]))
            guess = model(batch.ids, batch.tokens).argmax(dim=-1)
            right += int((guess == batch.targets)[batch.targets != IGNORED].sum())
            items += int((batch.targets != IGNORED).sum())
    assert evaluation.details["examples"] == items == int(test.scored.sum())
    score = values(evaluation, registry, setup.labels)["token_accuracy"]
    assert score == pytest.approx(right / items)
    assert sum(group["tokens"] for group in evaluation.groups.values()) == items


def test_tokens_without_a_tag_have_no_influence_on_the_loss(registry, setup):
    model = TASK.build(setup, Cell.parse(registry, DEFAULT_CELL), seed=0).eval()
    batch = TASK.split(setup, ["train"], RUNTIME.device).batch(np.arange(5))
    loss, right = TASK.loss(setup, model, batch)
    logits = model(batch.ids, batch.tokens)
    scored = batch.targets != IGNORED
    shares = logits.log_softmax(dim=-1)[scored].gather(1, batch.targets[scored][:, None])
    assert loss.item() == pytest.approx(-shares.mean().item(), rel=1e-5)
    assert int(right) == int((logits.argmax(-1) == batch.targets)[scored].sum())
    nothing = replace(batch, targets=torch.full_like(batch.targets, IGNORED), items=0)
    loss, right = TASK.loss(setup, model, nothing)
    assert (loss.item(), int(right)) == (0.0, 0)


@pytest.mark.parametrize("causal", [False, True])
def test_a_causal_tagger_sees_no_later_token(registry, setup, causal):
    own = replace(setup, options=TagOptions(causal=causal))
    model = TASK.build(own, Cell.parse(registry, DEFAULT_CELL), seed=0).eval()
    batch = TASK.split(own, ["train"], RUNTIME.device).batch(np.array([0]))
    changed = batch.ids.clone()
    changed[0, -1] = changed[0, -1] % (own.vocab_size - 1) + 1
    before, after = model(batch.ids, batch.tokens), model(changed, batch.tokens)
    assert torch.allclose(before[0, :-1], after[0, :-1], atol=1e-6) is causal


def test_causal_tagging_needs_an_attention_that_can_be_causal():
    registry, plugin = built_ins(), Register(Owner("elsewhere", "1"))
    plugin("attention", "both-ways", object, summary="", capabilities=("padding", "rotate"))
    registry.admit(plugin)
    options = {"task": "tag", "attention": "fused,both-ways", "data": "recall"}
    obstacles = {}
    for causal in (False, True):
        rows = make_plan(make_request({**options, "causal": causal}, registry), registry).rows
        obstacles[causal] = {row.name.split("+")[0]: row.skip_reason for row in rows if row.cell}
    assert set(obstacles[False].values()) == {""}
    assert obstacles[True]["fused"] == ""
    assert "does not declare 'causal', which the task needs" in obstacles[True]["both-ways"]


def test_the_baselines_read_and_score_the_tokens_that_the_cells_do(registry, setup):
    rows = TASK.scored_groups(setup)
    estimator = TASK.estimator(setup, registry.choose("baseline", "window-logreg(size=1)"))
    assert max(map(len, estimator.training[0])) == 8  # of nine
    evaluation = estimator.score(estimator.fit())
    _, test = TASK.splits(setup, RUNTIME.device)
    assert evaluation.details["examples"] == int(test.scored.sum())
    assert (
        values(evaluation, registry, setup.labels)["token_accuracy"] == 1
    )  # the neighbour decides
    assert list(evaluation.groups) == list(dict.fromkeys(rows)) == ["a", "b"]
    alone = TASK.estimator(setup, registry.choose("baseline", "frequent-tag"))
    assert values(alone.score(alone.fit()), registry, setup.labels)["token_accuracy"] < 0.5


def test_a_share_for_validation_is_of_the_training_texts_and_has_no_groups(setup):
    own = replace(setup, training=setup.training.model_copy(update={"validation": 0.25}))
    train, held_out = TASK.splits(own, RUNTIME.device)
    assert (len(train), len(held_out)) == (44, 15)  # one of 45 is also held out, word for word
    assert TASK.scored_groups(own) == []
    both = [
        split.batch(np.array([r])).ids.tolist() for split in (train, held_out) for r in range(15)
    ]
    assert not [ids for ids in both[15:] if ids in both[:15]]


def test_costs_at_several_lengths_get_texts_of_full_length(setup):
    split = TASK.full_length_split(setup, 3, RUNTIME.device)
    assert isinstance(split, PaddedSplit)
    batch = split.batch(np.arange(3))
    assert (batch.ids.shape, batch.items) == ((3, 8), 24)
    assert int(batch.targets.max()) < len(setup.labels)


def test_a_run_records_sampled_cells_and_baselines_whole_and_by_group(tmp_path):
    data = "recall(train=60, test=20, pairs=4, values=2, test_length=16)"
    baseline = {"baseline": "frequent-tag,window-logreg"}
    outcome = bench(tmp_path, {**TAG, **baseline, "data": data, "lr": 1e-3})
    assert [record.status for record in outcome.records] == ["ok"] * 3
    for record in outcome.records:
        assert record.config["data"]["chance"] > 0.5
        assert [m.name for m in record.metric_descriptions] == ["token_accuracy", "macro_f1"]
        assert "span_f1" not in record.metrics
        groups = record.metrics["groups"]
        assert list(groups) == ["to 8", "9 to 16"]
        total = sum(group["examples"] for group in groups.values())
        assert total == record.metrics["examples"]
        mean = sum(g["examples"] * g["token_accuracy"] for g in groups.values()) / total
        assert record.metrics["token_accuracy"] == pytest.approx(mean)


@pytest.mark.slow
def test_it_learns_to_recall(tmp_path):
    options = {**TAG, "epochs": 12, "lr": 0.01, "dropout": 0.0, "baseline": "frequent-tag"}
    data = "recall(train=800, test=80, pairs=4, values=2)"
    cell, baseline = bench(tmp_path, {**options, "data": data}).records
    assert cell.metrics["token_accuracy"] > 0.95
    assert baseline.metrics["token_accuracy"] < 0.65


def test_tags_that_are_cut_off_are_counted_and_said(tmp_path, registry):
    spec = "recall(train=20, test=10, pairs=8)"
    sizes = Sizes(max_length=12)
    loaded = TASK.load(spec, TagOptions(), sizes, registry)
    (remark,) = loaded.description["remarks"]
    assert "80 tags of train and 40 of test are beyond the 12 word pieces" in remark
    whole = TASK.load(spec, TagOptions(), Sizes(max_length=16), registry)
    assert whole.description["remarks"] == []


def test_where_every_tag_is_cut_off_the_error_names_the_length(registry):
    said = r"--max-length 8: every tag of train in recall\("
    with pytest.raises(ZooError, match=said):  # 8 pairs and 8 questions
        TASK.load("recall(train=20, test=6, pairs=8)", TagOptions(), Sizes(max_length=8), registry)


def test_a_summary_counts_the_tokens_with_a_tag(registry, tmp_path):
    for split in ("train", "test"):
        (tmp_path / f"{split}.conll").write_text(f"{split} O\nRome B-LOC\n\n" * 2)
    loaded = TASK.load(str(tmp_path), TagOptions(), Sizes(max_length=8), registry)
    said = "2 training and 2 test texts, 4 test tokens with a tag"
    assert loaded.description["summary"] == said


def test_a_saved_model_is_compared_by_the_scores_at_the_last_token_of_each_text(registry, setup):
    model = TASK.build(setup, Cell.parse(registry, DEFAULT_CELL), seed=0).eval()
    texts = [[4, 5, 6], [7], [5, 9, 4, 8]]
    sampled = TASK.sample_scores(model, texts)
    assert sampled.shape == (3, 6)
    for ids, scores in zip(texts, sampled, strict=True):
        alone = model(torch.tensor([ids]), Tokens.whole(len(ids)))[0, -1]
        torch.testing.assert_close(scores, alone)
