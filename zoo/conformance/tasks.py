"""A task: a small model of it learns, and is scored alike in any order, batch and mode."""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from zoo.components.attention.base import Attention
from zoo.components.block.base import Block
from zoo.config.settings import Execution, Training
from zoo.config.sizes import Sizes
from zoo.conformance.assertions import hinting, must, trying
from zoo.conformance.baselines import classed, noisy
from zoo.conformance.declares import other_values
from zoo.conformance.elsewhere import environment, own_plugin
from zoo.conformance.models import PLAIN_PARTS
from zoo.conformance.parts import Part, is_a, perturb
from zoo.data.sources.corpus import (
    IGNORED,
    Corpus,
    Examples,
    Pairs,
    TaggedCorpus,
    plain_words,
    whole_text,
)
from zoo.data.tokenizer import piece_bytes
from zoo.errors import ZooError
from zoo.models.stack import Encoder
from zoo.registry import CAPABILITIES, Register
from zoo.registry.cell import Cell
from zoo.registry.loading import load
from zoo.sweep.make_request import make_request
from zoo.tasks.base import SAMPLE_SCORES, Evaluation, Task, TaskSetup
from zoo.training.device import resolve
from zoo.training.trainer import Trainer

# What a record can have: JSON, and values of NumPy, which become lists.
recorded = functools.partial(json.dumps, default=lambda value: value.tolist(), allow_nan=False)
CELL = {**PLAIN_PARTS, "pe": "rope", "pool": "mean"}
# Small data of each sort that a task may read; more is scored than one batch of an evaluation.
DATA = {
    "text-labels": "checked-texts",
    "token-labels": "checked-tags",
    "pairs": "checked-pairs",
    "text": "newswire(train=12, test=6)",
}


def tagged_texts(validation: int = 0, groups: bool = False) -> TaggedCorpus:
    """Texts of many lengths; the word w0 has no tag. groups: of the test texts, by their length."""
    splits, sizes = {}, {"train": 80, "test": 150, "validation": validation}
    for name, count in ((name, count) for name, count in sizes.items() if count):
        texts, tags = noisy(count, count, 12)
        for text, own in zip(texts, tags, strict=True):
            own[:] = [IGNORED if word == "w0" else tag for word, tag in zip(text, own, strict=True)]
        by = [f"{len(text)} words" for text in texts] if groups and name == "test" else []
        if name == "train":  # some are there twice
            texts[-3:], tags[-3:] = texts[:3], tags[:3]
        splits[name] = Examples(texts, tags, by)
    return TaggedCorpus("checked-tags", splits, ["A", "B", "C"])


def classed_texts(validation: int = 0, groups: bool = False) -> Corpus:
    """The same texts, each with its most frequent tag."""
    tagged = tagged_texts(validation, groups).splits
    splits = {name: Examples(*classed(*split[:2]), split[2]) for name, split in tagged.items()}
    return Corpus("checked-texts", splits, ["A", "B", "C"])


def paired_texts() -> Pairs:
    """The same texts, of which more than half have one target, which is soon learned."""
    splits = {}
    for name, split in classed_texts().splits.items():
        sources = [f"{name[:2]}{n} {text[:9].strip()}" for n, text in enumerate(split.texts)]
        splits[name] = Examples(sources, ["no" if label else "yes yes" for label in split.targets])
    return Pairs("checked-pairs", splits)


_PROGRAM = """
import sys
from zoo.registry.loading import load

load(sys.argv[2:]).registry.choose("task", sys.argv[1]).build()
sys.exit("it imports torch, which slows down planning" if "torch" in sys.modules else 0)
"""


def tasks(part: Part) -> None:
    """It is a Task that imports no torch; a small model of it learns, and is scored alike."""
    made = is_a(part.make(), Task)
    registry = load(part.files).registry
    with trying("a request with its options and defaults"):
        make_request({"task": str(part.choice)}, registry)
    fields = made.options.model_fields.items()
    bare = [name for name, field in fields if not field.description]
    must(not bare, f"options without a description: {', '.join(bare)}")
    kinds = {**dict(made.needs), "data": made.reads, "baseline": made.baselines}
    for kind, names in kinds.items():
        must(kind in CAPABILITIES, f"needs names {kind!r}, which is no axis")
        unknown = sorted(set(names) - set(CAPABILITIES[kind]))
        must(not unknown, f"no {kind} can declare {', '.join(map(repr, unknown))}")
    base: Any = next(b for b in type(made).__mro__ if b.__module__.startswith("zoo."))
    for kind, names in base.needs.items():
        lost = ", ".join(sorted({*names} - {*made.needs.get(kind, ())}))
        must(not lost, f"needs of {kind} lacks {lost}, which {base.__name__} needs")
    must(bool(made.metrics), "it names no metrics")
    made.metric_choices(registry)
    _no_torch(part)
    if made.reads and type(made).load is not Task.load:
        own, parameters = Register(part.choice.component.owner), {"validation": 0, "groups": False}
        for sort, given in (("token-labels", tagged_texts), ("text-labels", classed_texts)):
            how: dict[str, Any] = {"capabilities": [sort], "parameters": parameters}
            own("data", DATA[sort], given, summary="", **how)
        own("data", DATA["pairs"], paired_texts, summary="", capabilities=["pairs"])
        registry.admit(own)
        run = _TinyRun(made, DATA[made.reads[0]], registry)
        run.check()
        for sort in made.reads[1:]:
            with hinting(f"of data with {sort}"):
                more_data = _TinyRun(made, DATA[sort], registry)
                more_data.scores(more_data.build(), more_data.splits()[1])
        if made.reads[0] in ("text-labels", "token-labels"):
            more_data = _TinyRun(made, f"{run.spec}(validation=40, groups=True)", registry)
            more_data.splits(validation=0.3)
            more_data.grouped()
            more_data.texts_stay_apart(validation=0.3)
        for name, value in _other_options(made):
            with hinting(f"with --set {name}={value}"):
                _TinyRun(made, run.spec, registry, {name: value}).check()


def _no_torch(part: Part) -> None:
    """Planning imports a task, and must not wait for torch."""
    files, plugins = own_plugin(part)
    command = [sys.executable, "-c", _PROGRAM, str(part.choice), *files]
    env = environment(ZOO_PLUGINS=plugins)
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    said = "".join(done.stderr.splitlines()[-1:])
    must(not done.returncode, f"in a new process: {said}")


def _other_options(made: Any) -> Iterator[tuple[str, Any]]:
    """Another value of each option that the zoo's own tasks do not have."""
    bases = [each for each in made.options.__mro__ if hasattr(each, "model_fields")]
    known = {name for b in bases if b.__module__.startswith("zoo.") for name in b.model_fields}
    for name, field in made.options.model_fields.items():
        for value in other_values(field.default)[:1] if name not in known else ():
            with contextlib.suppress(ValueError):  # which it refuses
                made.options(**{name: value})
                yield name, value


class _TinyRun:
    """A small model of a task on small data, from loading to scores."""

    last: Evaluation

    def __init__(
        self, made: Any, spec: str, registry: Any, options: Mapping[str, Any] | None = None
    ) -> None:
        self.made, self.registry, self.options = made, registry, made.options(**(options or {}))
        self.spec = spec
        self.sizes = Sizes(dim=16, layers=1, heads=2, ffn_dim=32, max_length=32, vocab_size=300)
        loaded = made.load(spec, self.options, self.sizes, registry)
        recorded(loaded.description)
        named = {"name", "fingerprint"} <= {*loaded.description}
        must(named, "load: its description lacks `name` or `fingerprint`")
        self.data = loaded.encoded
        self.training = Training(epochs=6, batch_size=8, lr=0.01, dropout=0.0)
        self.runtime, self.device = resolve(Execution(device="cpu")), torch.device("cpu")
        self.metrics = made.metrics_from(registry, self.data.label_names)
        must(bool(self.metrics), "no metric of it applies to the data")
        reads, asked = self.data.max_length, self.sizes.max_length
        must(reads == asked, f"reads {reads} tokens at once, not {asked}")

    def setup(self, **settings: Any) -> Any:
        """The task with its data, and these settings of the training."""
        data, training = self.data, self.training.model_copy(update=settings)
        own = self.made, self.options, self.sizes, training, data.vocab_size, data.label_names, data
        return TaskSetup(*own, registry=self.registry)

    def build(self, seed: int = 0, pool: str = CELL["pool"], **settings: Any) -> Any:
        """The model of CELL, with this pool."""
        cell = Cell.parse(self.registry, {**CELL, "pool": pool})
        return self.made.build(self.setup(**settings), cell, seed)

    def split(self, name: str) -> Any:
        """A split of the data."""
        return self.made.split(self.setup(), [name], self.device)

    def splits(self, **settings: Any) -> tuple[Any, Any]:
        """What is trained on and what is scored, which have no example in common."""
        setup = self.setup(**settings)
        train, scored = self.made.splits(setup, self.device)
        rows, others = {*_ids(train)}, {*_ids(scored)}
        must(bool(others), f"it holds out nothing, with {settings}")
        shared = len(rows & others)
        must(not shared, f"{shared} held-out examples are also trained on, with {settings}")
        whole, named = len(self.split("train")), self.made.scored_part(setup)
        all_of_it = len(self.split(named)) if named else 0.3 * whole
        counts = f"of {whole} of train it trains on {len(train)} and scores {len(scored)}"
        fair = abs(len(scored) - all_of_it) <= (0 if named else 0.1 * whole) + 1
        left = whole if named else whole - len(scored)
        must(fair and 0.9 * left <= len(train) <= left, f"{counts}, with {settings}")
        last = self.made.scored_split
        must(named != last or not settings, f"it scores {last} with {settings}")
        if settings:
            touched = len({*_ids(self.split(last))} & (rows | others))
            must(not touched, f"{touched} examples of {last} are used with {settings}")
        return train, scored

    def scores(self, model: Any, split: Any) -> np.ndarray:
        """The metrics of a model."""
        with trying("an evaluation"):
            self.last = self.made.evaluate(self.setup(), model, split, self.runtime)
            values = [metric.of(self.last.outputs) for metric in self.metrics]
            recorded(self.last.details)
        examples, errors = (self.last.details.get(n) for n in ("examples", "errors"))
        must(type(examples) is int and examples > 0, f"details: examples is {examples!r}")
        for metric, value in zip(self.metrics, values, strict=True):
            if metric.description.paired and errors is not None:
                what = f"{metric.description.name} is {value:.4g}, with {len(errors)} `errors`"
                right = abs(len(errors) - (1 - value) * examples) < 0.5
                must(right, f"{what} in {examples} examples")
        return np.array(values)

    @property
    def wrong(self) -> set[int]:
        """Rows of the last evaluation that are not right."""
        return {row for row, *_ in self.last.details.get("errors") or ()}

    @property
    def classifies(self) -> bool:
        """Whether the last evaluation gave classes or tags."""
        return {"labels", "predicted"} <= self.last.outputs.keys()

    def counted(self, model: Any, split: Any) -> None:
        """The last evaluation counts what one pass after another over the examples gives."""
        outputs, right, again = self.last.outputs, 0, 0
        expected: dict[str, float] = {"tokens": 0, "pairs": len(split), "nats": 0.0, "bytes": 0}
        sizes = torch.from_numpy(piece_bytes(self.data.tokenizer()))
        for batch in split.ordered(7):
            expected["tokens"] += batch.items
            with torch.no_grad():
                right += int(self.made.loss(self.setup(), model, batch)[1])
                again += int(self.made.loss(self.setup(), model, batch)[1])
                if "bytes" in outputs:
                    logits, flat = self.made.forward(model, batch), batch.targets.flatten()
                    flat_logits = logits.double().flatten(0, -2)
                    expected["nats"] += float(cross_entropy(flat_logits, flat, reduction="sum"))
                    expected["bytes"] += int(sizes[flat].sum())
        given = {name: float(outputs[name]) for name in expected if name in outputs}
        hits = outputs.get("right_tokens")
        if self.classifies:
            labels, predicted = np.array(outputs["labels"]), np.array(outputs["predicted"])
            expected["labels"], given["labels"] = expected["tokens"], len(labels)
            hits = (labels == predicted).sum()
            true = np.hstack(self.data.corpus().splits[self.made.scored_split].targets)
            true = true[true != IGNORED]
            what = "`labels` are not those of the scored texts in their order"
            must(len(true) != len(labels) or np.array_equal(labels, true), what)
        if hits is not None and right == again:  # what is predicted may be drawn
            expected["right answers"], given["right answers"] = right, float(hits)
        for name, count in given.items():
            what = f"an evaluation has {name} {count:g}, and its batches one by one"
            same = np.isclose(count, expected[name], rtol=1e-3)
            must(bool(same), f"{what} {expected[name]:g}")

    def grouped(self) -> None:
        """Each group has the answers to its own examples."""
        of = self.data.corpus().test.groups
        model = self.build()
        perturb(model, 0.5)
        self.scores(model, self.splits()[1])
        outputs, groups = self.last.outputs, self.last.groups
        must(bool(groups), "the data have groups, and an evaluation has none")
        if not self.classifies:
            return
        of_each = np.repeat(of, outputs.get("lengths", 1))  # the group of each answer
        for name in ("labels", "predicted"):
            for group, own in groups.items():
                expected = np.array(outputs[name])[of_each == group]
                same = group in of and np.array_equal(own[name], expected)
                must(same, f"group {group!r}: its {name} are not those of its texts")

    def texts_stay_apart(self, **settings: Any) -> None:
        """What models are pretrained on, and baselines fitted to, is not scored."""
        made, setup = self.made, self.setup(**settings)
        named, corpus = made.scored_part(setup), self.data.corpus()
        texts = corpus.splits[named or "train"].texts
        if not named:  # rows of train
            held, every = {*_ids(made.splits(setup, self.device)[1])}, _ids(self.split("train"))
            texts = [text for text, ids in zip(texts, every, strict=True) if ids in held]
        scored = {plain_words(whole_text(text)) for text in texts}
        read: dict[str, Any] = {}
        if made.no_pretraining(self.options) is None:
            read["--init pretrain"] = made.texts_to_pretrain(setup)
        for sort in {"texts", "token-texts"} & {*made.baselines}:
            spy, fitted = _Spy(sort), self.estimator(sort, setup)
            answers = fitted.score(spy).outputs
            asked = {plain_words(whole_text(text)) for text in spy.texts}
            must(asked <= scored, f"a baseline is scored on other texts, with {settings}")
            if self.classifies and not settings:
                same = np.array_equal(answers["labels"], self.last.outputs["labels"])
                must(same, "baselines are scored by other labels, or in another order")
            read["a baseline"] = fitted.training[0]
        for who, known in read.items():
            both = scored & {plain_words(whole_text(text)) for text in known}
            must(not both, f"{len(both)} texts that {who} reads are scored, with {settings}")

    def estimator(self, sort: str, setup: Any) -> Any:
        """What fits and scores a baseline of this sort."""
        component = next(c for c in self.registry.components("baseline") if c.can(sort))
        return self.made.estimator(setup, self.registry.example(component))

    def guessed(self) -> None:
        """A baseline that knows nothing is scored on the tokens that the last model was."""
        own, size = self.last.outputs, self.data.vocab_size
        for sort in {"stream", "masked"} & {*self.made.baselines}:
            given = self.estimator(sort, self.setup()).score(_Spy(sort, size)).outputs
            for name in ("tokens", "bytes"):
                what = f"a {sort} baseline is scored on {given[name]} {name}"
                must(given[name] == own[name], f"{what}, a model on {own[name]}")
            nats = given["tokens"] * np.log(size)
            what = f"a baseline that guesses has {given['nats']:g} nats, not {nats:g}"
            must(bool(np.isclose(given["nats"], nats)), what)

    def answers_texts(self, model: Any) -> None:
        """A saved model answers texts as it was scored."""
        if "predict" not in self.made.commands or not self.classifies:
            return
        corpus, predicted = self.data.corpus(), np.array(self.last.outputs["predicted"])
        saved = self.made.text_model(self.setup(), model, self.data.tokenizer())
        answers = saved.predict(corpus.test.texts)
        names = np.array(corpus.label_names)[predicted].tolist()
        if isinstance(corpus, Corpus):
            own = [answer.label for answer in answers]
        else:
            scored = np.hstack(corpus.test.targets) != IGNORED
            own = np.hstack([answer.tags for answer in answers])[scored].tolist()
        must(own == names, "its text_model answers the scored texts otherwise than is scored")

    def sampled(self, model: Any) -> None:
        """The scores by which a saved model is known are each text's own."""
        texts = [[5, 6, 7], [8], [9, 10, 11, 12, 13]]
        with torch.no_grad(), trying("sample_scores"):
            together = self.made.sample_scores(model.eval(), texts)
            alone = torch.cat([self.made.sample_scores(model, [ids]) for ids in texts])
        fits = together.shape == alone.shape and together.shape[1] <= SAMPLE_SCORES
        must(fits, f"sample_scores has shape {tuple(together.shape)} for 3 texts")
        must(torch.allclose(together, alone, atol=1e-4), "sample_scores: a text's depend on others")
        moved = copy.deepcopy(model)
        perturb(moved, 0.5)
        with torch.no_grad():
            same = torch.equal(together, self.made.sample_scores(moved, texts))
        must(not same, "sample_scores do not depend on the weights")

    def labels_mean_the_same(self) -> None:
        """What the data's labels of texts become does not depend on the split."""
        source, became = self.registry.choose("data", self.spec).build(), dict[int, int]()
        for name, split in self.data.corpus().splits.items():
            labels = dict(zip(*source.splits[name][:2], strict=True))
            for text, label in zip(split.texts, split.targets, strict=True):
                if text in labels:
                    same = became.setdefault(labels[text], label) == label
                    must(same, f"a label of {name} is another class than in train")

    def check(self) -> None:
        """Loss falls, scores rise; neither order, batch nor mode changes a score."""
        held_out = [self.splits(validation=0.3)[1] for _ in range(2)]
        first, again = ([b.ids.tolist() for b in split.ordered(8)] for split in held_out)
        must(first == again, "validation=0.3: other examples are held out each time")
        if self.spec == DATA["text-labels"]:
            self.labels_mean_the_same()
        models = [*map(self.build, (0, 0, 1))]
        if self.made.no_pretraining(self.options) is None:
            has = any(isinstance(module, Encoder) for module in models[0].modules())
            must(has, "--init is taken, and its model has no Encoder: see no_pretraining")
        weights = [torch.cat([p.flatten() for p in m.parameters()]) for m in models]
        alike = [torch.equal(weights[0], other) for other in weights[1:]]
        must(alike == [True, False], "its initial weights do not follow from the seed")
        small = self.sizes
        for name in ("dim", "layers", "ffn_dim"):
            self.sizes = small.model_copy(update={name: 2 * getattr(small, name)})
            count = sum(p.numel() for p in self.build().parameters())
            self.acts(name, count != len(weights[0]))
        self.sizes = small
        (train, scored), setup, model = self.splits(), self.setup(), self.build()
        self.loss_of_each(self.build().eval(), train)
        few = train.batch(np.arange(8))
        mean, cls = (self.loss(self.build(pool=pool), few) for pool in ("mean", "cls"))
        self.acts("pool", mean != cls)
        with contextlib.suppress(ZooError):
            whole = self.made.full_length_split(setup, 3, self.device)
            lengths, most = [int(n) for n in whole.lengths], self.sizes.max_length
            must(lengths == [most] * 3, f"full_length_split: {lengths} tokens, not {most} each")
            of_it = self.loss(model, whole.batch(np.arange(3)))
            must(np.isfinite(of_it), f"full_length_split: a loss of {of_it}")
        loss = functools.partial(self.made.loss, setup)
        trainer = Trainer(model, train, loss, setup.training, self.runtime, 0)
        before = self.scores(model, train)
        losses = [trainer.run_epoch()["loss"] for _ in range(setup.training.epochs)]
        what = f"in {len(losses)} epochs the loss goes from {losses[0]:.4g} to {losses[-1]:.4g}"
        must(losses[-1] < losses[0], what)
        after = self.scores(model, train)
        directions = [metric.description.direction for metric in self.metrics]
        better = ((after - before) * directions)[after != before]
        learns = len(better) > 0 and better[0] > 0
        must(learns, f"{what}, and the scores of what it is trained on from {before} to {after}")
        self.scores(model, scored)
        self.counted(model, scored)
        self.guessed()
        self.scored_alike(model, scored)
        model = self.build(dropout=0.5)
        dropped, kept = (self.loss(made.train(), few) for made in (model, self.build()))
        self.acts("dropout", dropped != kept)
        perturb(model, 0.5)  # so that its answers are of all kinds
        self.scores(model.eval(), scored)
        if self.spec in (DATA["text-labels"], DATA["token-labels"]):
            self.texts_stay_apart()
            self.texts_stay_apart(validation=0.3)
            self.answers_texts(model)
        self.sampled(model)
        self.scored_alike(model, scored)

    def acts(self, option: str, differs: bool) -> None:
        """Fail unless an option acts, or `unused` names it."""
        unused = option in self.made.unused
        must(differs or unused, f"{option} changes nothing: use it, or name it in `unused`")
        must(not (differs and unused), f"{option} acts, and `unused` names it")

    def loss(self, model: Any, batch: Any, **settings: Any) -> float:
        """The loss of a batch with these settings; what is predicted may be drawn, once for all."""
        torch.manual_seed(0)
        return float(self.made.loss(self.setup(**settings), model, batch)[0])

    def loss_of_each(self, model: Any, train: Any) -> None:
        """The mean loss of a batch is that of its examples, whatever their padding."""
        lengths = np.asarray(train.lengths)
        # Of many tokens, for a loss may be computed in pieces.
        rows = np.array([lengths.argmax(), lengths.argmin(), *range(min(14, len(train)))])
        losses, items, needed, setup = [], [], set[str](), self.setup()

        def note(module: Any, args: Any) -> None:
            layer = args[1]
            masked = layer.tokens.attention_mask is not None
            uses = {"the attention with causal": layer.causal, "the attention with padding": masked}
            if isinstance(module, Block):
                uses = {"the block with cross": layer.memory is not None}
            needed.update(need for need, is_so in uses.items() if is_so)

        for module in model.modules():
            if isinstance(module, Attention | Block):
                module.register_forward_pre_hook(note)
        with torch.no_grad(), trying("the loss of a batch"):
            for batch in map(train.batch, (rows, rows, *rows[:, None])):
                value, _ = self.made.loss(setup, model, batch)
                shape = tuple(value.shape)
                must(shape == (), f"the loss has shape {shape}, not that of a number")
                losses.append(float(value))
                items.append(batch.items)
            many = train.batch(np.arange(min(16, len(train))))
            right = float(self.made.loss(setup, model, many)[1])
            counted = right.is_integer() and 0 <= right <= many.items
            must(counted, f"the loss says that {right:g} of {many.items} items are right")
            batch = train.batch(rows)
            smooth = self.loss(model, batch, label_smoothing=0.3)
            self.acts("label_smoothing", smooth != self.loss(model, batch, label_smoothing=0.0))
        for axis, names in self.made.needs_of(self.options).items():
            needed -= {f"the {axis} with {name}" for name in names}
        must(not needed, f"it calls {', '.join(sorted(needed))}, which `needs` must name")
        both, again, *apart = losses
        if both != again or items[0] != items[1] or items[0] == 0:
            return  # what is predicted is drawn anew
        mean = np.average(apart, weights=items[2:])
        what = f"a batch has a loss of {both:.6g}, its {len(apart)} examples alone {mean:.6g}"
        alike = abs(mean - both) < 1e-4 * (1 + abs(both))
        must(alike, f"{what} on average over their items: padding counts, or the length of a text")

    def scored_alike(self, model: Any, split: Any) -> None:
        """Mode, order, and how many texts are scored at once change no score."""
        expected = self.scores(model.eval(), split)
        moved = wrong = self.wrong
        outcomes = {"in training mode, with dropout,": self.scores(model.train(), split)}
        if hasattr(split, "subset"):
            shuffled = np.random.default_rng(0).permutation(len(split))
            outcomes["in another order"] = self.scores(model, split.subset(shuffled))
            moved = {int(shuffled[row]) for row in self.wrong}
            halves = np.array_split(np.arange(len(split)), 2)
            parts = [self.scores(model, split.subset(half)) for half in halves]
            mean = np.average(parts, axis=0, weights=list(map(len, halves)))
            paired = [metric.description.paired for metric in self.metrics]
            outcomes["by halves"] = np.where(paired, mean, expected)
        for how, other in outcomes.items():
            what = f"{how} the scores are {other.tolist()}, not {expected.tolist()}"
            must(np.allclose(other, expected), what)
        must(moved == wrong, "in another order of the texts, `errors` has rows of other texts")


class _Spy:
    """A baseline that remembers the texts that it is asked about."""

    def __init__(self, sort: str, size: int = 1) -> None:
        self.sort, self.size, self.texts = sort, size, list[Any]()

    def nats(self, ids: Any) -> Any:
        return np.full(len(ids) - 1, np.log(self.size))

    def log_probabilities(self, ids: Any, places: Any) -> Any:
        return np.full((len(places), self.size), -np.log(self.size))

    def predict(self, texts: Sequence[Any]) -> list[Any]:
        self.texts += texts
        return [[0] * len(text) if self.sort == "token-texts" else 0 for text in texts]


def _ids(split: Any) -> list[tuple[int, ...]]:
    """The ids of each example, in the order of the split."""
    batches = (split.batch(np.array([row])) for row in range(len(split)))
    return [tuple(batch.ids.flatten().tolist()) for batch in batches]
