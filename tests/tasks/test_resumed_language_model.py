"""A language model's trial that was interrupted ends with the bits of one that was not."""

from __future__ import annotations

from pathlib import Path

import torch
from zoo.tasks.language import LanguageLearner

from zoo.components.tokens import Tokens
from zoo.config.settings import Execution, Training
from zoo.config.sizes import Sizes
from zoo.data.encoding.encoded_stream import encode_stream
from zoo.data.sources.plain_text import read_text
from zoo.execution.base import Setting
from zoo.registry import AXES, Registry
from zoo.registry.cell import Cell
from zoo.train import checkpoint
from zoo.train.device import Runtime
from zoo.train.trainer import Trainer

PLAIN = dict(zip(AXES, ("fused", "rope", "layer", "gelu", "pre", "mean"), strict=True))
RUNTIME = Runtime(torch.device("cpu"), "fp32")


def test_from_a_checkpoint_the_same_bits(book: Path, registry: Registry, tmp_path: Path) -> None:
    encoded = encode_stream(read_text(book), 300, 24)
    sizes = Sizes(dim=16, heads=2, hidden=32, layers=1, max_length=24, vocab_size=300)
    training = Training(epochs=2, batch_size=16)
    execution = Execution(device="cpu")
    learner = LanguageLearner(
        Setting(str(encoded.directory), sizes, training, execution, task="lm")
    )

    def trainer() -> Trainer:
        model = learner.build(Cell.parse(registry, PLAIN), seed=3)
        return Trainer(
            model, learner.training_rows(RUNTIME), learner.loss, training, RUNTIME, seed=3
        )

    whole = trainer()
    while not whole.finished:
        whole.run_epoch()
    first, file = trainer(), tmp_path / "trial.safetensors"
    checkpoint.keep(file, first, [vars(first.run_epoch())])
    second = trainer()
    assert len(checkpoint.restore(file, second)) == 1
    second.run_epoch()
    ids, tokens = torch.tensor([[5, 9, 77]]), Tokens.whole(3)
    with torch.no_grad():
        assert torch.equal(whole.model.eval()(ids, tokens), second.model.eval()(ids, tokens))
