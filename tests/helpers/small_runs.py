"""Runs of every task that take a second or two, and the data that they use."""

import contextlib
import csv
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import zoo as zoo_package
from zoo.cli import main
from zoo.config.settings import SETTINGS, flag
from zoo.execution.base import Event
from zoo.registry import AXES, PartSpec
from zoo.registry.cell import ModelParts
from zoo.registry.loading import load
from zoo.sweep.cost import measure_rows
from zoo.sweep.make_request import make_request
from zoo.sweep.prepare import open_executor, places_of
from zoo.sweep.progress import Progress
from zoo.sweep.records import Record
from zoo.sweep.run import PreparedRun, Run

SIZES = {"dim": 16, "heads": 2, "ffn_dim": 32, "layers": 1, "threads": 1, "device": "cpu"}
CLASSIFY = {
    "task": "classify",
    "max_length": 24,
    "vocab_size": 120,
    "epochs": 2,
    "batch_size": 8,
    "blocks": 2,
    # Most of these texts are cut; without whole= there would be a row on whole ones, too.
    "baseline": "tfidf-logreg(whole=False)",
    **SIZES,
}
LM = {
    "task": "lm",
    "max_length": 24,
    "vocab_size": 300,
    "epochs": 2,
    "lr": 0.01,
    "batch_size": 8,
    **SIZES,
}
MLM = {
    "task": "mlm",
    "max_length": 24,
    "vocab_size": 120,
    "epochs": 2,
    "lr": 0.01,
    "batch_size": 8,
    **SIZES,
}
SEQ2SEQ = {
    "task": "seq2seq",
    "max_length": 12,
    "epochs": 4,
    "lr": 0.01,
    **SIZES,
    "data": "copy(train=200,test=20,shortest=2,longest=4)",
}
# Less than a second, without any file.
QUICK = {
    **SIZES,
    "data": "order(train=60,test=12)",
    "evaluate_every": 0,
    "lr": 0.005,
    "max_length": 16,
    "vocab_size": 100,
    "epochs": 1,
    "seeds": 1,
    "phases": "train",
    "baseline": "none",
}
# Of a process, in which no plug-ins are but the zoo's own, installed or only on the path.
ENV = os.environ | {"PYTHONPATH": str(Path(zoo_package.__file__).parents[1]), "ZOO_PLUGINS": ""}
MINE = '''
from zoo import part
from zoo.components.attention.fused import Fused


@part("attention", "mine")
class Mine(Fused):
    """Another name."""

    def attend(self, q, k, v, mask, bias, **how):
        return super().attend(q, k, {factor} * v, mask, bias, **how)
'''
FAILING = Path(__file__).with_name("failing.py")
WORDS = {
    "sport": "goal match team coach league striker cup season".split(),
    "market": "shares profit bank stock trader bond market growth".split(),
    "music": "album singer band concert song guitar stage chart".split(),
}
COMMON = "the a of and to in said on it was for with as at by from".split()
DEFAULT_CELL = dict(zip(AXES, ("fused", "rope", "layer", "gelu", "pre", "mean"), strict=True))
TIMES = {"seconds", "train_seconds", "evaluate_seconds", "pretrain_seconds"}


def flags(options: Mapping[str, Any]) -> list[str]:
    """Options of Python as those of the command line."""
    words: list[str] = []
    for name, value in options.items():
        if name == "blocks" and options.get("phases") in ("train", ("train",)):
            continue
        if name in SETTINGS:
            words += ["--set", f"{name}={'yes' if value is True else value}"]
        elif value is True:
            words.append(flag(name))
        else:
            words += [flag(name), str(value)]
    return words


def bench(
    out: Path,
    options: Mapping[str, Any],
    *,
    on: str = "inline",
    plugins: tuple[Path, ...] = (),
    progress: Progress | None = None,
) -> Run:
    """``zoo bench`` in this process, with one seed unless more are given, without tables."""
    loaded = load(plugins)
    request = make_request(
        {"seeds": 1, **options, "plugins": tuple(map(str, plugins))}, loaded.registry
    )
    with open_executor(loaded, on) as executor:
        ready = PreparedRun(request, loaded, executor, progress or Progress())
        with ready.open(places_of([ready.config], "", out)[0]) as run:
            measure_rows(run, run.train_rows())
    return run


def command(options: Mapping[str, Any], out: Path) -> int:
    """The exit status of ``zoo bench``, which writes tables too, with one seed unless more."""
    return main(["bench", "--on", "inline", *flags({"seeds": 1, **options, "out": out})])


def train(place: Path, options: Mapping[str, Any]) -> Path:
    """``zoo train`` without what only a bench takes; where the model is."""
    given = {n: v for n, v in options.items() if n not in ("baseline", "blocks")}
    assert main(["train", *flags({**given, "save": place}), "--on", "inline"]) == 0
    return place


def zoo(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run ``zoo`` as a user does."""
    return subprocess.run(
        [sys.executable, "-m", "zoo", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        **options,
    )


def prepared(options: Mapping[str, Any], plugins: tuple[Path, ...] = ()) -> PreparedRun:
    """A request whose data are encoded."""
    loaded = load(plugins)
    request = make_request(options, loaded.registry)
    with open_executor(loaded, "inline") as executor:
        return PreparedRun(request, loaded, executor, Progress())


def cell(**choices: str) -> ModelParts:
    """The default cell as a job has it, with other names for some axes."""
    names = {**DEFAULT_CELL, **choices}
    return {axis: tuple(PartSpec(name, {}) for name in names[axis].split("/")) for axis in AXES}


def baseline(name: str, **parameters: Any) -> ModelParts:
    """A baseline as a job has it."""
    return {"baseline": (PartSpec(name, parameters),)}


def result_of(record: Record) -> object:
    """Everything that a record says of its model, except for times."""
    curve = [{n: v for n, v in entry.items() if n != "seconds"} for entry in record.curve]
    return {n: v for n, v in record.metrics.items() if n not in TIMES}, curve


def seconds_of_first_epoch(checkpoint: Path) -> float:
    """What a checkpoint says of the first epoch; another training of it takes another time."""
    import torch

    _, _, curve = torch.load(checkpoint, weights_only=True)["progress"]
    return float(curve[0]["seconds"])


def executor_plugin(folder: Path, name: str, place: str) -> Path:
    """A plug-in file that registers an executor; place: its module and class, ``module:Class``."""
    file = folder / f"{name.replace('-', '_')}.py"
    file.write_text(
        "from zoo import hookimpl\n"
        "@hookimpl\n"
        "def zoo_register(register):\n"
        f"    register('executor', {name!r}, {place!r}, summary='for tests')\n"
    )
    return file


def by_key(records: list[Record]) -> dict[str, object]:
    """The results of records that all ended well, by their keys."""
    assert [record.status for record in records] == ["ok"] * len(records)
    return {record.key: result_of(record) for record in records}


class Notices(Progress):
    """Keeps what a run says beside its results."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def notice(self, text: str) -> None:
        self.lines.append(text)


class Stop(Exception):  # noqa: N818 - an interruption, not an error
    """Raised by ``StopAfter``."""


class StopAfter(Progress):
    """Interrupts a run, like Ctrl-C, at the first event of a kind."""

    def __init__(self, kind: type[Event]) -> None:
        self.kind = kind

    def event(self, event: Event, metrics: object = ()) -> None:
        if isinstance(event, self.kind) and event.job.kind != "inspect":
            raise Stop


def write_corpus(directory: Path) -> Path:
    """72 training and 30 test documents of three classes that share most of their words."""
    draw = random.Random(0)
    for split, size in (("train", 24), ("test", 10)):
        with (directory / f"{split}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "label"])
            for label, own in WORDS.items():
                for _ in range(size):
                    length = draw.randint(6, 40)
                    words = [
                        draw.choice(own if draw.random() < 0.3 else COMMON) for _ in range(length)
                    ]
                    writer.writerow([" ".join(words), label])
    return directory


def write_book(path: Path) -> Path:
    """Some 400 lines in which few words follow one another, and letters beyond ASCII."""
    draw = random.Random(0)
    words = "the owl saw a naïve fox run over hills and — so it goes — sleep till dawn".split()
    lines = []
    for _ in range(400):
        place = draw.randrange(len(words))
        lines.append(" ".join(words[(place + i) % len(words)] for i in range(8)) + ".\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


@contextlib.contextmanager
def isolated(cache: Path) -> Iterator[None]:
    """A cache of these tests' own, no plug-ins but theirs, one thread, and costs of few steps."""
    import torch

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "ZOO_CACHE", str(cache))
        patch.setitem(os.environ, "ZOO_PLUGINS", "")
        patch.setattr("zoo.execution.cost_job.STEPS", "quick_steps")
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        yield
        torch.set_num_threads(threads)
