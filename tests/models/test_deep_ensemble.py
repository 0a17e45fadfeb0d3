"""A deep ensemble predicts the mean of its members' probabilities; each member learns alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from small_models import CLASSES, classifier, deep_ensemble
from torch import Tensor

from zoo.components.tokens import Tokens
from zoo.models.architectures import Classifier, mean_log_probability

TEXTS, LENGTH = 4, 6


def texts(number: int = TEXTS, seed: int = 3) -> tuple[Tensor, Tokens]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(1, 20, (number, LENGTH), generator=generator), Tokens.whole(LENGTH)


def test_it_predicts_the_mean_of_its_members_probabilities(registry):
    model = deep_ensemble(registry, members=3).eval()
    with torch.inference_mode():
        logits = np.array([member(*texts()).double().numpy() for member in model.members])
        out = model(*texts())
        # There is no dropout here: training mode changes nothing.
        torch.testing.assert_close(model.train()(*texts()), out)
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    assert out.shape == (TEXTS, CLASSES)
    np.testing.assert_allclose(out.exp().numpy(), probabilities.mean(axis=0), rtol=1e-5)


def test_logits_too_large_to_exponentiate_give_finite_probabilities():
    logits = torch.tensor([[[2000.0, -2000.0]], [[-2000.0, 2000.0]]])
    torch.testing.assert_close(mean_log_probability(logits).exp(), torch.tensor([[0.5, 0.5]]))


@pytest.mark.parametrize("padded", [False, True])
def test_per_member_each_gets_its_own_texts_and_learns_as_it_would_alone(registry, padded):
    model = deep_ensemble(registry, members=3).train()
    ids, tokens = texts(3 * TEXTS)
    if padded:
        mask = torch.arange(LENGTH) < torch.arange(3 * TEXTS)[:, None] % 4 + 3
        tokens = Tokens(mask, tokens.positions)
    labels = torch.arange(3 * TEXTS) % CLASSES
    logits = model(ids, tokens, per_member=True)
    F.cross_entropy(logits, labels).backward()
    gradients = [[p.grad.clone() for p in member.parameters()] for member in model.members]
    for number, member in enumerate(model.members):
        own = slice(number * TEXTS, (number + 1) * TEXTS)
        mask = None if tokens.attention_mask is None else tokens.attention_mask[own]
        model.zero_grad()
        alone = member(ids[own], Tokens(mask, tokens.positions))
        torch.testing.assert_close(logits[own], alone)
        F.cross_entropy(alone, labels[own]).backward()
        torch.testing.assert_close(gradients[number], [p.grad / 3 for p in member.parameters()])


def test_texts_that_do_not_divide_among_members_are_refused(registry):
    with pytest.raises(ValueError, match="4 texts do not divide among 3 members"):
        deep_ensemble(registry, members=3)(*texts(), per_member=True)


def test_members_differ_and_are_the_same_in_an_ensemble_of_any_size(registry):
    two, three = deep_ensemble(registry, members=2), deep_ensemble(registry, members=3)
    other = deep_ensemble(registry, members=2, seed=1)
    weights = [m.encoder.embedding.weight for model in (three, other) for m in model.members]
    for number, one in enumerate(weights):
        assert not any(torch.equal(one, another) for another in weights[number + 1 :])
    for mine, theirs in zip(two.members, three.members, strict=False):
        torch.testing.assert_close(mine.state_dict(), theirs.state_dict(), rtol=0, atol=0)


def test_one_member_is_the_classifier_itself(registry):
    built = deep_ensemble(registry, members=1, seed=5)
    assert isinstance(built, Classifier)
    expected = classifier(registry, seed=5).state_dict()
    torch.testing.assert_close(built.state_dict(), expected, rtol=0, atol=0)
