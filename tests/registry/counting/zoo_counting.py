"""A plug-in with a task, a metric and an executor of its own, as a third party would write it.

The task: how often does a word occur in a text? A number is predicted, not a class.
"""

import os
import random
from dataclasses import replace
from pathlib import Path

from pydantic import Field

from zoo import hookimpl
from zoo.config.metric_description import MetricDescription
from zoo.errors import ZooError
from zoo.execution.base import Executor
from zoo.tasks.base import Evaluation, Loaded, Metric, Task, TaskOptions

FILLER = "the a of and to in said on it was".split()


@hookimpl
def zoo_register(register):
    register("task", "count", "zoo_counting:Count", summary="how often a word occurs in a text")
    register(
        "metric", "mean_absolute_error", mean_absolute_error, summary="mean distance from the truth"
    )
    register("executor", "logged", "zoo_counting:LoggedExecutor", summary="inline, with a log")


def mean_absolute_error():
    return Metric(
        MetricDescription(
            name="mean_absolute_error",
            label="error",
            higher_is_better=False,
            digits=2,
            unit="words",
            scale=1.0,
            unit_digits=2,
            highest=None,
            scored="texts",
        ),
        lambda outputs: float(abs(outputs["predicted"] - outputs["truth"]).mean()),
    )


class CountOptions(TaskOptions):
    word: str = Field(default="goal", description="The word that is counted.")


class Count(Task):
    options = CountOptions
    needs = {"attention": frozenset({"padding"})}  # noqa: RUF012
    metrics = ("mean_absolute_error",)
    defaults = {"baseline": "none", "max_length": 24, "vocab_size": 120}  # noqa: RUF012
    model_name = "a counter"

    def load(self, spec, options, sizes, registry):
        from zoo.data import Corpus
        from zoo.data.encoding import encode_labelled

        draw = random.Random(0)

        def split(size):
            counts = [number % 4 for number in range(size)]
            texts = [
                " ".join(draw.sample([*[options.word] * c, *draw.choices(FILLER, k=9)], c + 9))
                for c in counts
            ]
            return texts, counts

        splits = {"train": split(120), "test": split(40)}
        corpus = Corpus("counting", splits, ["0", "1", "2", "3"])
        encoded = encode_labelled(corpus, sizes.vocab_size, sizes.max_length)
        description = {
            "name": corpus.name,
            "fingerprint": corpus.fingerprint,
            "train": 120,
            "test": 40,
            "duplicates": 0,
            "notes": {},
        }
        return Loaded(encoded, description)

    def build(self, setup, cell, seed):
        from zoo.models.build import build_classifier

        return build_classifier(
            cell, setup.sizes, vocab_size=setup.vocab_size, classes=1, seed=seed
        )

    def split(self, setup, names, device):
        from zoo.data.batches import PaddedSplit

        return PaddedSplit(setup.data.split(*names), device)

    def splits(self, setup, device):
        return self.split(setup, ["train"], device), self.split(setup, ["test"], device)

    def loss(self, setup, model, batch):
        predicted = self.forward(model, batch)
        loss = (predicted - batch.targets).square().mean()
        return loss, (predicted.detach().round() == batch.targets).sum()

    def forward(self, model, batch):
        return model(batch.ids, batch.tokens)[:, 0].float()

    def evaluate(self, setup, model, split, runtime):
        import numpy as np
        import torch

        model.eval()
        rows, predicted = [], []
        with torch.inference_mode():
            for batch in split.ordered(64):
                predicted.append(self.forward(model, batch).cpu().numpy())
                rows.append(batch.rows)
        order = np.argsort(np.concatenate(rows))
        outputs = {
            "predicted": np.concatenate(predicted)[order],
            "truth": split.targets.cpu().numpy(),
        }
        return Evaluation(outputs, {"examples": len(split)})

    def sample_scores(self, model, ids):
        from zoo.data.batches import padded

        return model(*padded(ids, next(model.parameters()).device))

    def text_model(self, setup, model, tokenizer):
        from zoo.data.batches import padded
        from zoo.models.text_model import Prediction, TextReader

        class Counter(TextReader):
            def answered(self, texts, first):
                ids = [encoding.ids for encoding in self.encode(texts, first)]
                counts = self.model(*padded(ids, self.device))[:, 0].tolist()
                for text, count in zip(texts, counts, strict=True):
                    yield Prediction(text, label=f"{count:.1f}")

        return Counter(model, tokenizer, setup.sizes.max_length)


class LoggedExecutor(Executor):
    """Runs jobs in this process and writes down which, in the file that ZOO_COUNTING_LOG names."""

    def default_limits(self, asked, trainings=1):
        if asked.jobs > 1 or asked.timeout is not None:
            raise ZooError("--on logged runs one job at a time, and cannot stop it")
        return replace(super().default_limits(asked, trainings), jobs=1)

    def run(self, jobs, *, limits, directory):
        from zoo.execution.base import Advanced, Artifacts, Ended, Result, Started
        from zoo.execution.local import run_job

        with Artifacts(directory) as artifacts:
            for job in sorted(jobs, key=lambda job: job.alone):
                with Path(os.environ["ZOO_COUNTING_LOG"]).open("a") as log:
                    log.write(f"{job.kind} {job.name}\n")
                yield Started(job)
                for item in run_job(job, artifacts.of(job), limits):
                    if isinstance(item, Result):
                        yield Ended(job, artifacts.with_files(job, item))
                    else:
                        yield Advanced(job, item)
                artifacts.remove(job)
