"""A language model whose training was interrupted has the bits of one that was not."""

from __future__ import annotations

import functools
from pathlib import Path

import torch
from small_runs import DEFAULT_CELL

from zoo.components.tokens import Tokens
from zoo.config.settings import Training
from zoo.config.sizes import Sizes
from zoo.data.encoding import encode_stream
from zoo.data.sources.load_data import read_plain_text
from zoo.registry import Registry
from zoo.registry.cell import Cell
from zoo.tasks.base import TaskSetup
from zoo.tasks.lm import LanguageModelling, PlainTextOptions
from zoo.training import checkpoint
from zoo.training.device import Runtime
from zoo.training.trainer import Trainer

RUNTIME = Runtime(torch.device("cpu"), "fp32")


def test_a_training_resumed_from_a_checkpoint_gives_the_same_bits(
    book: Path, registry: Registry, tmp_path: Path
) -> None:
    encoded = encode_stream(read_plain_text(book), 300, 24)
    sizes = Sizes(dim=16, heads=2, ffn_dim=32, layers=1, max_length=24, vocab_size=300)
    training = Training(epochs=2, batch_size=16)
    task = LanguageModelling()
    setup = TaskSetup(
        LanguageModelling(), PlainTextOptions(), sizes, training, encoded.vocab_size, [], encoded
    )
    split = task.split(setup, ["train"], RUNTIME.device)
    loss = functools.partial(task.loss, setup)

    def trainer() -> Trainer:
        model = task.build(setup, Cell.parse(registry, DEFAULT_CELL), seed=3)
        return Trainer(model, split, loss, training, RUNTIME, seed=3)

    whole = trainer()
    while not whole.finished:
        whole.run_epoch()
    first, file = trainer(), tmp_path / "checkpoint.safetensors"
    checkpoint.save(file, first, [vars(first.run_epoch())])
    second = trainer()
    assert len(checkpoint.restore(file, second)) == 1
    second.run_epoch()
    ids, tokens = torch.tensor([[5, 9, 77]]), Tokens.whole(3)
    with torch.no_grad():
        assert torch.equal(whole.model.eval()(ids, tokens), second.model.eval()(ids, tokens))
