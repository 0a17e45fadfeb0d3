"""What encoders begin with: a saved one, or a stage of masked language modelling in every job."""

from collections.abc import Generator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from small_runs import CLASSIFY, Stop, bench, by_key, cell, prepared

from zoo.data.batches import MaskedSplit
from zoo.data.encoding import windows
from zoo.data.tokenizer import piece_bytes
from zoo.execution.base import Advanced, Event, TrainJob
from zoo.execution.open_setup import build_model, open_setup
from zoo.execution.pretrain import CHECKPOINT, FINISHED, begin
from zoo.models.build import build_masked_language_model
from zoo.registry.cell import Cell
from zoo.sweep import progress
from zoo.sweep.run import Run
from zoo.tasks.base import TaskSetup
from zoo.tasks.mlm import MaskedLanguageModelling
from zoo.training.device import Runtime
from zoo.training.trainer import Trainer

RUNTIME = Runtime(torch.device("cpu"), "fp32")
STAGE = {"init": "pretrain", "pretrain_epochs": 3, "pretrain_lr": 0.01}
TAGGED = "recall(train=60,test=30,pairs=4,values=3)"


@pytest.fixture(scope="module")
def options(corpus) -> dict[str, Any]:
    return {**CLASSIFY, **STAGE, "data": str(corpus), "baseline": "none", "phases": "train"}


def begun(setup: TaskSetup, job: TrainJob, directory: Path) -> Any:
    """A job's model with what it begins with; only the encoder is another than without."""
    model = build_model(setup, job.model, job.seed)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    curves = []

    def run(trainer: Trainer, file: Path) -> Generator[Any]:
        yield from ()
        curves.append([trainer.run_epoch() for _ in range(3)])
        return curves[-1]

    for _ in range(2):  # the second time what it has left is read
        model.load_state_dict(before)
        assert not list(begin(job, setup, model, RUNTIME, directory, run))
    assert len(curves) == 1
    after = model.state_dict()
    changed = {name for name in after if not torch.equal(after[name], before[name])}
    assert changed
    assert all(".encoder." in f".{name}" for name in changed)
    return model


def test_the_stage_is_masked_language_modelling_on_the_training_texts(options, tmp_path):
    """The same encoder, built and trained as that task does, has the same bits at the end."""
    setup = prepared(options).setup
    opened = open_setup(setup)
    job = TrainJob(setup, "a cell", "key", model=cell(), seed=3)
    model = begun(opened, job, tmp_path)
    data = opened.data
    documents = windows(data.tokenizer(), data.corpus().train.texts, setup.sizes.max_length)
    sizes = piece_bytes(data.tokenizer())
    split = MaskedSplit(documents, 0.3, sizes, RUNTIME.device)
    expected = build_masked_language_model(
        Cell.resolve(opened.registry, job.model),
        setup.sizes,
        vocab_size=data.vocab_size,
        seed=3,
        dropout=setup.training.dropout,
    )
    counts = torch.bincount(torch.tensor(documents.ids), minlength=data.vocab_size).double() + 1
    with torch.no_grad():
        expected.bias.copy_((counts / counts.sum()).log())
    stage = {"epochs": 3, "lr": 0.01, "label_smoothing": 0.0}
    training = setup.training.model_copy(update=stage)
    loss = partial(MaskedLanguageModelling().loss, replace(opened, training=training))
    trainer = Trainer(expected, split, loss, training, RUNTIME, seed=3)
    first = trainer.run_epoch()["loss"]
    trainer.run_epoch()
    assert trainer.run_epoch()["loss"] < first
    theirs, ours = expected.encoder.state_dict(), model.encoder.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


class Steps(progress.Progress):
    """Notes the steps that were done, and interrupts a run, like Ctrl-C, after so many."""

    def __init__(self, most: int = 0) -> None:
        self.done: list[int] = []
        self.most = most

    def event(self, event: Event, metrics: object = ()) -> None:
        if isinstance(event, Advanced):
            self.done.append(event.step.done)
            if len(self.done) == self.most:
                raise Stop


@pytest.fixture(scope="module")
def whole(options, tmp_path_factory) -> Run:
    """A run that nobody interrupts."""
    return bench(tmp_path_factory.mktemp("whole"), options)


@pytest.mark.parametrize(
    ("steps", "first", "second"),
    [(1, "inline", "local"), (4, "local", "inline")],
    ids=["in the stage", "in the training"],
)
def test_a_job_that_is_interrupted_goes_on_in_either_stage_on_either_executor(
    options, whole, tmp_path, first, second, steps
):
    out, rest = tmp_path / "out", Steps()
    with pytest.raises(Stop):
        bench(out, options, on=first, progress=Steps(steps))
    left = {path.name for path in out.glob("unfinished/*/*")}
    assert (CHECKPOINT in left, FINISHED in left) == (steps == 1, steps == 4)
    resumed = bench(out, options, on=second, progress=rest)
    # A process of ``local`` may have done one more step before it was stopped.
    assert rest.done[0] in ((steps + 1,) if first == "inline" else (steps + 1, steps + 2))
    assert rest.done[-1] == 5
    assert by_key(resumed.records) == by_key(whole.records)
    assert not (out / "unfinished").exists()
