"""A committee answers with the mean of its members' probabilities, and each learns by itself."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from usual import SMALL, USUAL

from zoo.components.tokens import Tokens
from zoo.config.settings import Training
from zoo.config.sizes import Sizes
from zoo.data.batching.document_batches import Batch
from zoo.models.build import build_ensemble
from zoo.models.classifier import Classifier
from zoo.models.deep_ensemble import DeepEnsemble, together
from zoo.registry import Registry
from zoo.registry.cell import Cell
from zoo.tasks.classifying import classification_loss

CLASSES, TEXTS, LENGTH = 3, 4, 6


def committee(registry: Registry, members: int, seed: int = 0, **more: Any) -> DeepEnsemble:
    built = build_ensemble(
        Cell.parse(registry, USUAL),
        Sizes(**SMALL, members=members),
        vocab_size=20,
        classes=CLASSES,
        seed=seed,
        **more,
    )
    assert isinstance(built, DeepEnsemble)
    return built


def texts() -> tuple[Tensor, Tokens]:
    ids = torch.randint(1, 20, (TEXTS, LENGTH), generator=torch.Generator().manual_seed(3))
    return ids, Tokens.whole(LENGTH, torch.device("cpu"))


def test_it_answers_with_the_mean_of_its_members_probabilities(registry: Registry) -> None:
    model = committee(registry, 3).eval()
    with torch.inference_mode():
        logits = np.array([member(*texts()).double().numpy() for member in model.members])
        answer = model(*texts())
    shares = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    assert answer.shape == (TEXTS, CLASSES)
    with torch.inference_mode():  # nothing is dropped here: the mode changes nothing
        torch.testing.assert_close(model.train()(*texts()), answer)
    np.testing.assert_allclose(answer.exp().numpy(), shares.mean(axis=0), rtol=1e-5)


def test_texts_that_do_not_divide_among_members_are_refused(registry: Registry) -> None:
    ids, tokens = texts()
    with pytest.raises(ValueError, match="4 texts do not divide among 3 members"):
        committee(registry, 3)(ids, tokens, apart=True)


def test_scores_that_no_exponential_holds_stay_finite() -> None:
    logits = torch.tensor([[[2000.0, -2000.0]], [[-2000.0, 2000.0]]])
    torch.testing.assert_close(together(logits).exp(), torch.tensor([[0.5, 0.5]]))


def batch() -> Batch:
    ids, tokens = texts()
    size = ids.numel()
    return Batch(ids, tokens, torch.tensor([0, 2, 1, 1]), np.arange(TEXTS), size, size)


def test_each_member_learns_as_it_would_by_itself(registry: Registry) -> None:
    """The loss is the mean of the members' own, so that each one's gradient is its own's share."""
    model = committee(registry, 3).train()
    loss, right = classification_loss(model, batch(), Training(label_smoothing=0.1))
    loss.backward()
    gradients = [
        [p.grad.clone() for p in member.parameters() if p.grad is not None]
        for member in model.members
    ]
    losses = []
    for member, found in zip(model.members, gradients, strict=True):
        model.zero_grad()
        alone = F.cross_entropy(member(*texts()), batch().labels, label_smoothing=0.1)
        alone.backward()
        losses.append(alone.item())
        own = [p.grad / 3 for p in member.parameters() if p.grad is not None]
        torch.testing.assert_close(found, own)
    assert loss.item() == pytest.approx(np.mean(losses))
    assert right == (model.eval()(*texts()).argmax(dim=-1) == batch().labels).sum()


def test_what_is_taken_from_one_member_is_not_what_is_taken_from_another(
    registry: Registry,
) -> None:
    model = committee(registry, 3).train()
    read: list[Tensor] = []
    for member in model.members:
        member.register_forward_pre_hook(lambda _, given: read.append(given[0]))
    torch.manual_seed(0)
    attention_mask = torch.ones(TEXTS, LENGTH, dtype=torch.bool)
    attention_mask[0, 4:] = False
    padded = replace(batch(), tokens=Tokens(attention_mask, torch.arange(LENGTH)))
    classification_loss(model, padded, Training(token_deletion=0.4))
    assert [ids.shape for ids in read] == [(TEXTS, 4)] * 3
    assert not any(torch.equal(a, b) for a, b in itertools.combinations(read, 2))
    whole = batch().ids.masked_fill(~attention_mask, 0)
    for ids in read:
        for kept, text in zip(ids.tolist(), whole.tolist(), strict=True):
            assert set(kept) <= {*text, 0}
            assert kept[0] == text[0]


def test_members_differ_and_are_the_same_however_many_there_are(registry: Registry) -> None:
    two, three = committee(registry, 2), committee(registry, 3)
    other = committee(registry, 2, seed=1)
    weights = [m.encoder.embedding.weight for c in (three, other) for m in c.members]
    for number, one in enumerate(weights):
        assert not any(torch.equal(one, another) for another in weights[number + 1 :])
    for mine, theirs in zip(two.members, three.members, strict=False):
        torch.testing.assert_close(mine.state_dict(), theirs.state_dict(), rtol=0, atol=0)


def test_one_member_is_the_classifier_itself(registry: Registry, assemble) -> None:
    built = build_ensemble(
        Cell.parse(registry, USUAL), Sizes(**SMALL), vocab_size=20, classes=CLASSES, seed=5
    )
    assert isinstance(built, Classifier)
    torch.testing.assert_close(built.state_dict(), assemble(5).state_dict(), rtol=0, atol=0)
