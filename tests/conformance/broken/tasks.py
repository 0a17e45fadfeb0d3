"""Tasks that are wrong in one way each. No torch here, except where that is the fault."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
from pydantic import BaseModel, Field
from specimens import Specimens

from zoo import hookimpl
from zoo.registry import Register
from zoo.tasks.base import Task
from zoo.tasks.classify import Classify
from zoo.tasks.lm import LanguageModelling
from zoo.tasks.mlm import MaskedLanguageModelling
from zoo.tasks.seq2seq import SequenceToSequence
from zoo.tasks.tag import Tag, TagOptions

broken = Specimens("task")


@hookimpl
def zoo_register(register: Register) -> None:
    broken.register(register)
    register("metric", "share", dict, summary="a metric that tasks can name")


class Options(BaseModel):
    size: int = Field(default=3, description="Of what.")


class Sound(Task):
    """Only what the checks read; the methods of the contract are tested with the tasks."""

    options = Options
    needs: ClassVar = {"attention": frozenset({"causal"})}
    metrics = ("share",)


Sound.__abstractmethods__ = frozenset()


@broken.caught_by("tasks", "gives a .*dict, no .*Task")
def no_task():
    return {}


class Wide(Options):
    width: int


class Bare(BaseModel):
    size: int = 3


# What a class says of itself, and what is said of that.
SAYS = {
    "OptionsInADict": ({"options": {"size": 3}}, "a request with its options and defaults: raised"),
    "RequiredOption": ({"options": Wide}, "--width .*required"),
    "BareOption": ({"options": Bare}, "options without a description: size"),
    "NoSuchDefault": ({"defaults": {"epochz": 3}}, "epochz"),
    "NeedsAList": ({"needs": ["causal"]}, "not iterable|update sequence"),
    "NeedsOfNoAxis": ({"needs": {"atention": {"causal"}}}, "'atention', which is no axis"),
    "NeedsText": ({"needs": {"attention": "causal"}}, "no attention can declare 'a', 'c', 'l'"),
    "NeedsTheImpossible": (
        {"needs": {"attention": {"flies", "causal"}}},
        "no attention can declare 'flies'",
    ),
    "ReadsText": ({"reads": "pairs"}, "no data can declare 'a', 'i'"),
    "ReadsPictures": ({"reads": ("text-labels", "pictures")}, "no data can declare 'pictures'"),
    "NothingMeasured": ({"metrics": ()}, "it names no metrics"),
    "MetricsInText": ({"metrics": "share"}, "no metric 's'"),
    "UnknownMetric": ({"metrics": ("share", "shrae")}, "no metric 'shrae'; did you mean 'share'"),
}
for _name, (_attributes, _says) in SAYS.items():
    broken.caught_by("tasks", _says)(type(_name, (Sound,), _attributes))


@broken.caught_by("tasks", "it imports torch")
class ImportsTorch(Sound):
    def __init__(self):
        import torch  # noqa: F401


@broken.caught_by("tasks", "in a new process: RuntimeError: not twice")
class FailsInANewProcess(Sound):
    def __init__(self):
        import sys

        if "torch" not in sys.modules:
            raise RuntimeError("not twice")


@broken.caught_by("tasks", "in training mode, with dropout, the scores are")
class ScoredInTraining(Classify):
    def evaluate(self, setup, model, split, runtime):
        predicted = [0] * len(split)
        for batch in split.ordered(64):
            answers = model(batch.ids, batch.tokens).argmax(-1).tolist()
            for row, answer in zip(batch.rows, answers, strict=True):
                predicted[row] = answer
        return self.score(setup, predicted, split.targets.tolist())


@broken.caught_by("tasks", "that 0.[0-9]+ of 16 items are right")
class SharesRight(Classify):
    def loss(self, setup, model, batch):
        loss, right = super().loss(setup, model, batch)
        return loss, right / batch.items


@broken.caught_by("tasks", "label_smoothing changes nothing")
class NeverSmooth(Classify):
    def loss(self, setup, model, batch):
        smooth = setup.training.model_copy(update={"label_smoothing": 0.0})
        return super().loss(dataclasses.replace(setup, training=smooth), model, batch)


@broken.caught_by("tasks", "label_smoothing changes nothing")
class NeverSmoothWithChance(NeverSmooth):
    def loss(self, setup, model, batch):
        import torch

        loss, right = super().loss(setup, model, batch)
        return loss * (1 + torch.rand(())), right


@broken.caught_by("tasks", "its 16 examples alone")
class MeanOfPieces(Classify):
    def loss(self, setup, model, batch):
        import torch

        from zoo.tasks.passes import token_loss

        pieces = zip(model(batch.ids, batch.tokens).split(6), batch.targets.split(6), strict=True)
        smoothing = setup.training.label_smoothing
        found = [token_loss(logits, own, len(own), smoothing) for logits, own in pieces]
        return torch.stack([loss for loss, _ in found]).mean(), sum(right for _, right in found)


@broken.caught_by("tasks", "held-out examples are also trained on, with .'validation': 0.3")
class TrainsOnValidationToo(Classify):
    def splits(self, setup, device):
        train, scored = super().splits(setup, device)
        names = [name for name in ("train", "validation") if name in setup.data.splits]
        return (self.split(setup, names, device) if len(names) > 1 else train), scored


@broken.caught_by("tasks", r"full_length_split: \[31, 31, 31\] tokens, not 32 each")
class RoomForNothing(Classify):
    def full_length_split(self, setup, examples, device):
        sizes = setup.sizes.model_copy(update={"max_length": setup.sizes.max_length - 1})
        return super().full_length_split(dataclasses.replace(setup, sizes=sizes), examples, device)


@broken.caught_by("tasks", "needs of block lacks cross, which SequenceToSequence needs")
class NeedsNoBlock(SequenceToSequence):
    needs: ClassVar = {"attention": SequenceToSequence.needs["attention"]}


@broken.caught_by("tasks", "texts that --init pretrain reads are scored, with .*0.3")
class PretrainsOnWhatIsHeldOut(Classify):
    def texts_to_pretrain(self, setup, *, all_data=False):
        return list(setup.data.corpus().splits["train"].texts)


@broken.caught_by("tasks", "a label of test is another class than in train")
class NumbersEachSplit(Classify):
    def read(self, spec, options, registry):
        corpus, notices = super().read(spec, options, registry)
        test = corpus.splits["test"]
        turned = test._replace(targets=[(label + 1) % 3 for label in test.targets])
        return dataclasses.replace(corpus, splits={**corpus.splits, "test": turned}), notices


@broken.caught_by(
    "tasks", "needs of attention lacks causal, padding, which LanguageModelling needs"
)
class NeedsTooLittle(LanguageModelling):
    needs: ClassVar = {"attention": {"rotate"}}


@broken.caught_by("tasks", "an evaluation has right answers .*, and its batches one by one")
class RowsExchanged(Classify):
    def evaluate(self, setup, model, split, runtime):
        batches = [model.eval()(b.ids, b.tokens).argmax(-1) for b in split.ordered(64)]
        return self.score(setup, [n for b in batches for n in b.tolist()], split.targets.tolist())


@broken.caught_by("tasks", "an evaluation has labels 128, and its batches one by one 150")
class WholeBatches(Classify):
    def score(self, setup, predicted, targets):
        whole = len(targets) - len(targets) % 64
        return super().score(setup, predicted[:whole], targets[:whole])


@broken.caught_by("tasks", "`labels` are not those of the scored texts in their order")
class SortedByLabel(Classify):
    def score(self, setup, predicted, targets):
        order = np.argsort(np.array(targets), kind="stable")
        return super().score(setup, np.array(predicted)[order], np.array(targets)[order])


@broken.caught_by("tasks", "trains on .* and scores .*, with .'validation': 0.3")
class HoldsOutATenth(Classify):
    def validation_rows(self, setup):
        training = setup.training.model_copy(update={"validation": 0.1})
        return super().validation_rows(dataclasses.replace(setup, training=training))


@broken.caught_by("tasks", "it scores test with .'validation': 0.3")
class TunedOnTest(Classify):
    def scored_part(self, setup):
        return "test"


@broken.caught_by("tasks", "the data have groups, and an evaluation has none")
class LosesGroups(Tag):
    def scored_groups(self, setup):
        return []


@broken.caught_by("tasks", "its labels are not those of its texts")
class GroupsOfOthers(Classify):
    def scored_groups(self, setup):
        return super().scored_groups(setup)[::-1]


@broken.caught_by("tasks", "texts that a baseline reads are scored")
class FitsToAll(Classify):
    def estimator(self, setup, choice):
        made = super().estimator(setup, choice)
        every = setup.data.corpus().splits.values()
        texts, labels = ([each for split in every for each in split[place]] for place in (0, 1))
        return made._replace(training=(texts, labels))


@broken.caught_by("tasks", "baselines are scored by other labels, or in another order")
class ScoresBaselinesBackwards(Tag):
    def estimator(self, setup, choice):
        made = super().estimator(setup, choice)
        return made and made._replace(score=lambda model: self._backwards(made.score(model)))

    def _backwards(self, evaluation):
        labels = evaluation.outputs["labels"][::-1]
        return dataclasses.replace(evaluation, outputs={**evaluation.outputs, "labels": labels})


@broken.caught_by("tasks", "its text_model answers the scored texts otherwise than is scored")
class NamesInOtherOrder(Classify):
    def text_model(self, setup, model, tokenizer):
        return super().text_model(
            dataclasses.replace(setup, labels=[*setup.labels[1:], setup.labels[0]]),
            model,
            tokenizer,
        )


@broken.caught_by("tasks", "sample_scores: a text's depend on others")
class ScoresOfTheLastColumn(Tag):
    def sample_scores(self, model, ids):
        from zoo.data.batches import padded

        return model(*padded(ids, next(model.parameters()).device))[:, -1, :32]


@broken.caught_by("tasks", "an evaluation has bytes .*, and its batches one by one")
class BytesOfWhatIsRead(LanguageModelling):
    def evaluate(self, setup, model, split, runtime):
        found = super().evaluate(setup, model, split, runtime)
        outputs = {**found.outputs, "bytes": found.outputs["bytes"] + len(split)}
        return dataclasses.replace(found, outputs=outputs)


@broken.caught_by("tasks", "dropout changes nothing")
class HidesAndNeverDrops(MaskedLanguageModelling):
    def build(self, setup, cell, seed):
        training = setup.training.model_copy(update={"dropout": 0.0})
        return super().build(dataclasses.replace(setup, training=training), cell, seed)


@broken.caught_by("tasks", "label_smoothing acts, and `unused` names it")
class SmoothAllTheSame(Classify):
    unused: ClassVar = {"label_smoothing": "its loss has none"}


@broken.caught_by("tasks", "pool changes nothing: use it, or name it in `unused`")
class NamesNothingUnused(Tag):
    unused: ClassVar = {}


@broken.caught_by("tasks", "a stream baseline is scored on .* bytes, a model on")
class CountsTheFirstToken(LanguageModelling):
    def estimator(self, setup, choice):
        made = super().estimator(setup, choice)
        return made._replace(score=lambda model: self._more(made.score(model)))

    def _more(self, found):
        outputs = {**found.outputs, "bytes": found.outputs["bytes"] + 1}
        return dataclasses.replace(found, outputs=outputs)


@broken.caught_by("tasks", "reads 33 tokens at once, not 32")
class ReadsMore(Classify):
    def load(self, spec, options, sizes, registry):
        more = sizes.model_copy(update={"max_length": sizes.max_length + 1})
        return super().load(spec, options, more, registry)


@broken.caught_by("tasks", "alone .* on average over their items")
class MeanOfTexts(Tag):
    def loss(self, setup, model, batch):
        import torch
        import torch.nn.functional as F

        _, right = super().loss(setup, model, batch)
        logits = self.forward(model, batch).transpose(1, 2)
        smoothing = setup.training.label_smoothing
        each = F.cross_entropy(logits, batch.targets, reduction="none", label_smoothing=smoothing)
        counts = (batch.targets != -100).sum(dim=1).clamp_min(1)
        return torch.mean(each.sum(dim=1) / counts), right


class Forwards(TagOptions):
    forwards: bool = Field(default=False, description="Whether tokens see those before alone.")


@broken.caught_by("tasks", "it calls the attention with causal, .*: with --set forwards=True")
class NeedsLessThanItsOption(Tag):
    options = Forwards

    def model_options(self, setup):
        return {**super().model_options(setup), "causal": setup.options.forwards}

    def no_pretraining(self, options):
        return "no token sees later ones" if options.forwards else None


@broken.caught_by("tasks", "held-out examples are also trained on")
class TrainsOnWhatIsHeldOut(Classify):
    def validation_rows(self, setup):
        rows, held_out = super().validation_rows(setup)
        return np.append(rows, held_out[:2]), held_out


@broken.caught_by("declares", "the factory takes 'size', which is not registered", parameters={})
class TakesAnArgument(Sound):
    def __init__(self, size=3):
        self.size = size
