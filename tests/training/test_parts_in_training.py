"""What parts ask of the trainer: auxiliary losses, no weight decay, a step of their own."""

import functools
from typing import Any

import pytest
import torch
from token_splits import RUNTIME, split
from torch import nn

from zoo.components.layer_context import LayerContext
from zoo.components.tokens import Tokens
from zoo.config.settings import Training
from zoo.config.sizes import Sizes
from zoo.errors import DivergedError
from zoo.models.build import build_classifier
from zoo.registry import Owner, Register, Registry
from zoo.registry.cell import Cell
from zoo.tasks.base import TaskSetup
from zoo.tasks.classify import Classify, ClassifyOptions
from zoo.training import checkpoint
from zoo.training.trainer import Trainer, auxiliary_of, make_optimizer

SIZES = Sizes(dim=8, layers=2, heads=2, ffn_dim=12, max_length=16, vocab_size=40)
USUAL = {"attention": "fused", "pe": "rope", "norm": "layer", "block": "pre", "pool": "mean"}


class Weighed(nn.Module):
    """Two matrices, and an auxiliary loss that is the mean square of one of them."""

    no_weight_decay = ("spared",)

    def __init__(self, dim: int, hidden: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.spared, self.decayed = (nn.Parameter(torch.randn(dim, dim)) for _ in range(2))
        self.steps = 0

    def forward(self, x: torch.Tensor, layer: LayerContext) -> torch.Tensor:
        layer.add_loss("size", self.decayed.square().mean(), weight=0.25)
        layer.add_loss("tokens", torch.tensor(float(layer.tokens.positions.numel())), 0.0)
        return x @ self.spared @ self.decayed

    def after_step(self) -> None:
        self.steps += 1
        self.spared.clamp_(-0.5, 0.5)


@pytest.fixture
def parts(registry) -> Registry:
    register = Register(Owner("elsewhere", "1"))
    register("ffn", "weighed", Weighed, summary="")
    registry.admit(register)
    return registry


def trainer(registry: Registry, **settings: Any) -> Trainer:
    training = Training(**{"epochs": 2, "batch_size": 5, "lr": 0.01, "dropout": 0.0, **settings})
    cell = Cell.parse(registry, {**USUAL, "ffn": "weighed"})
    model = build_classifier(cell, SIZES, seed=0, vocab_size=40, classes=3)
    setup = TaskSetup(Classify(), ClassifyOptions(), SIZES, training, 40, ["a", "b", "c"])
    loss = functools.partial(Classify().loss, setup)
    return Trainer(model, split([3 + i % 5 for i in range(12)]), loss, training, RUNTIME, seed=1)


def weighed(model: nn.Module) -> list[Weighed]:
    return [module for module in model.modules() if isinstance(module, Weighed)]


def test_the_gradient_is_of_the_tasks_loss_plus_weight_times_each(parts):
    trained = trainer(parts, lr=1e-12, max_grad_norm=0.0)
    batch = next(iter(trained.train.shuffled(5, 1, 0)))
    alone, _ = trained.loss(trained.model, batch)
    total = alone + sum(0.25 * w.decayed.square().mean() for w in weighed(trained.model))
    names, parameters = zip(*trained.model.named_parameters(), strict=True)
    expected = torch.autograd.grad(total, parameters)
    loss, _ = trained.train_step(batch)
    assert loss.item() == pytest.approx(alone.item(), rel=1e-6)  # what is reported is the task's
    for name, parameter, right in zip(names, parameters, expected, strict=True):
        assert torch.allclose(parameter.grad, right, atol=1e-7), name


def test_an_epoch_reports_the_mean_before_its_weight(parts):
    trained = trainer(parts, lr=1e-12)
    epoch = trained.run_epoch()
    sizes = [w.decayed.square().mean().item() for w in weighed(trained.model)]
    assert epoch["auxiliary: size"] == pytest.approx(sum(sizes) / 2, rel=1e-5)
    lengths = [b.ids.shape[1] * b.items for b in trained.train.shuffled(5, 1, 0)]
    assert epoch["auxiliary: tokens"] == pytest.approx(sum(lengths) / 12)
    assert list(auxiliary_of(epoch)) == ["size", "tokens"]
    assert trained.run_epoch()["auxiliary: size"] == pytest.approx(sum(sizes) / 2, rel=1e-5)
    # Nothing is collected outside of training.
    assert trained.model.encoder.losses is None
    trained.model.eval()
    with torch.inference_mode():
        trained.model(torch.ones(1, 3, dtype=torch.long), Tokens.whole(3))
    assert trained.model.encoder.losses is None
    assert trained.auxiliary.sums == {}


def test_an_auxiliary_loss_that_is_no_number_ends_the_training(parts):
    trained = trainer(parts)

    class NotANumber(Weighed):
        def forward(self, x: torch.Tensor, layer: LayerContext) -> torch.Tensor:
            layer.add_loss("odd", torch.tensor(float("nan")), weight=0.0)
            return x

    trained.model.encoder.blocks[0].ffn = NotANumber(8, 12)
    with pytest.raises(DivergedError, match="the odd loss became nan in epoch 1"):
        trained.run_epoch()


def test_parameters_that_ask_for_it_do_not_decay_and_others_do(parts):
    trained = trainer(parts, weight_decay=0.3)
    decay = {id(p): g["weight_decay"] for g in trained.optimizer.param_groups for p in g["params"]}
    for module in weighed(trained.model):
        assert (decay[id(module.spared)], decay[id(module.decayed)]) == (0.0, 0.3)
    assert decay[id(trained.model.encoder.embedding.weight)] == 0.3
    trained.model.no_weight_decay = ("encoder.blocks.*",)
    optimizer = make_optimizer(trained.model, trained.training, RUNTIME)
    decay = {id(p): g["weight_decay"] for g in optimizer.param_groups for p in g["params"]}
    assert {decay[id(p)] for p in trained.model.encoder.blocks.parameters()} == {0.0}
    trained.model.no_weight_decay = ("encoder.missing",)
    with pytest.raises(ValueError, match=r"has no parameter 'encoder\.missing'"):
        make_optimizer(trained.model, trained.training, RUNTIME)


def test_a_parts_own_step_follows_every_step_of_the_optimizer(parts):
    trained = trainer(parts, lr=0.5)
    trained.run_epoch()
    for module in weighed(trained.model):
        assert module.steps == trained.step == 3
        assert module.spared.abs().max() <= 0.5


def test_a_resumed_training_with_such_parts_ends_with_the_same_bits(parts, tmp_path):
    whole, first, second = trainer(parts), trainer(parts), trainer(parts)
    curve = [whole.run_epoch(), whole.run_epoch()]
    begun = [first.run_epoch()]
    checkpoint.save(tmp_path / "one", first, begun)
    assert checkpoint.restore(tmp_path / "one", second) == begun
    again = second.run_epoch()
    assert {**again, "seconds": 0} == {**curve[1], "seconds": 0}
    for parameter, other in zip(whole.model.parameters(), second.model.parameters(), strict=True):
        assert torch.equal(parameter, other)
