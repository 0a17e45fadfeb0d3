"""What ``import zoo`` offers: ``zoo.bench``, ``zoo.train`` and ``zoo.build``."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.config.places import refuse_unwritable
from zoo.config.request import COMPARING, Request, load_suite, validated
from zoo.config.sizes import Sizes
from zoo.data.sources.load_data import stored
from zoo.errors import StoppedError, ZooError
from zoo.files import scratch_directory
from zoo.registry import AXES, loading
from zoo.registry.cell import Cell
from zoo.sweep.against import beside, read_against
from zoo.sweep.cost import measure_rows
from zoo.sweep.make_request import make_requests, values_in
from zoo.sweep.options import with_options
from zoo.sweep.prepare import open_executor, places_of
from zoo.sweep.progress import Progress, for_python, in_notebook
from zoo.sweep.run import PreparedRun
from zoo.tracking import TrackedProgress

if TYPE_CHECKING:
    from torch import nn

    from zoo.models.text_model import TextModel
    from zoo.registry import Registry
    from zoo.registry.loading import Zoo
    from zoo.report.write import BenchResult
    from zoo.sweep.records import Record

Names = str | Sequence[str]
Files = str | Path | Sequence[str | Path]


@with_options()
def bench(
    attention: Names | None = None,
    pe: Names | None = None,
    *,
    task: str | None = None,
    data: Any = None,
    suite: str | Path | None = None,
    seeds: int | Sequence[int] | None = None,
    on: str = "local",
    out: str | Path | None = None,
    against: str | Path | None = None,
    track: str | None = None,
    plugins: Files | None = None,
    progress: bool | Progress | None = None,
    **options: Any,
) -> BenchResult:
    """Train and measure every combination: the table, the answer, and where everything is.

    attention, pe and the other axes (norm, ffn, block, pool): a name, a comma list or a list. In
    all but the pool, ``a/b`` takes turns over the layers.

    data: what ``--data`` takes; a pandas DataFrame or a ``datasets.Dataset``, with a column of
    texts and one of labels; a DatasetDict, or a dict of splits (``train``, ``test``); a list of
    dicts; a pair of lists ``(texts, labels)``. Several names, or tables with a ``name`` and options
    for that data set alone, give one line for each row on each data set.

    suite: a file of options, or one of the zoo's own; those given here win. seeds: how many, or
    which. on: a registered executor with its parameters, such as ``ray(address='10.0.0.1:6379')``.
    out: the directory of records and report, by default one under ``runs``. against: ``published``,
    or the directory of a run on streamed data, whose rows stand beside those of this run. track: a
    comma list of trackers, which show every training. plugins: single-file plug-ins. progress: True
    or False; by default bars in a notebook and on a terminal, and nothing elsewhere. An object of
    ``zoo.sweep.progress.Progress`` gets every event, and is closed at the end.

    Raises ZooError for bad usage or data. Cells that fail are rows with their status and reason.
    """
    zoo = _load(plugins, suite)
    options |= {"attention": attention, "pe": pe, "task": task, "seeds": seeds, "suite": suite}
    options |= {"data": stored(data, options), "plugins": _files(plugins)}
    requests = build_requests(options, zoo.registry)
    if requests[0].lengths:
        raise ZooError("max_length: 'zoo bench --max-length 64,256' measures several lengths")
    return bench_requests(
        requests, zoo, suite=suite, on=on, out=out, against=against, track=track, progress=progress
    )


def bench_requests(
    requests: Sequence[Request],
    zoo: Zoo,
    *,
    suite: str | Path | None,
    on: str,
    out: str | Path | None,
    against: str | Path | None,
    track: str | None,
    progress: bool | Progress | None,
) -> BenchResult:
    """Carry out requests that differ in their data alone; all else is as of ``bench``."""
    place = None if out is None else Path(out)
    refuse_unwritable(place or Path("runs"))
    others = [] if against is None else read_against(against, requests)
    name = Path(suite).stem if suite else "data-sets"
    with contextlib.closing(TrackedProgress(for_python(progress), track, zoo)) as shown:
        try:
            return _bench(requests, zoo, shown, name=name, on=on, out=place, others=others)
        except (KeyboardInterrupt, StoppedError) as error:
            outcome = "nothing was trained yet; the same command begins again"
            if shown.directory.is_dir() and shown.config:
                there = f"what is finished is in {shown.directory}"
                outcome = f"{there}; the same command goes on from there"
            raise type(error)(f"{error}; {outcome}" if str(error) else outcome) from error


def _bench(
    requests: Sequence[Request],
    zoo: Zoo,
    progress: Progress,
    *,
    name: str,
    on: str,
    out: Path | None,
    others: Sequence[Record],
) -> BenchResult:
    """Carry out requests that differ in their data, and write the report.

    All data are loaded and all plans made before the first training. Where the run is interrupted
    or fails, tables are written of what has been recorded. name: of a run on several data sets,
    used for its directory under ``runs``. others: of rows that stand beside those of the run.
    """
    from zoo.report.profile import read_profile
    from zoo.report.run_report import RunReport
    from zoo.report.write import BenchResult, scores_text, write_report, write_tables

    metric, several = requests[0].metric, len(requests) > 1
    reports: dict[Path, RunReport] = {}
    with open_executor(zoo, on) as executor:
        prepared = [PreparedRun(r, zoo, executor, progress) for r in requests]
        directory, places = places_of([each.config for each in prepared], name, out)
        fitting = beside(others, prepared) if others else [[] for _ in places]
        others_at = dict(zip(places, fitting, strict=True))

        def report() -> RunReport:
            """The tables of what the open run has recorded."""
            reports[place] = RunReport(run.records, metric=metric, others=others_at[place])
            write_tables(reports[place], place)
            return reports[place]

        def trained() -> None:
            if not in_notebook():  # which shows one table, the result
                progress.notice(scores_text(report()))

        try:
            for number, (each, place) in enumerate(zip(prepared, places, strict=True), start=1):
                if several:
                    data = f"{each.config['data']['name']} (--task {each.request.task})"
                    progress.notice(f"data set {number} of {len(prepared)}: {data}")
                with each.open(place) as run:
                    try:
                        measure_rows(run, run.train_rows(), before=trained)
                    finally:
                        if run.records:
                            report()
        finally:
            profile = read_profile(directory, metric, reports) if several else None
            if profile:
                write_tables(profile, directory)
    details = profile or reports.get(directory) or RunReport([], metric=metric)
    write_report(details, directory)
    return BenchResult(details, directory)


@with_options(without=COMPARING)
def train(
    attention: str | None = None,
    pe: str | None = None,
    *,
    task: str | None = None,
    data: Any = None,
    suite: str | Path | None = None,
    save: str | Path | None = None,
    from_: str | Path | BenchResult | None = None,
    row: str = "",
    all_data: bool = False,
    seed: int = 0,
    on: str = "local",
    track: str | None = None,
    plugins: Files | None = None,
    progress: bool | Progress | None = None,
    **options: Any,
) -> TextModel:
    """Train one model as ``zoo.bench`` trains it, and return it, ready to predict or generate.

    save: a new directory for the model; by default it is not written. from_: the directory of a
    run, or what ``zoo.bench`` returned: trains the row that its answer names, or the one called
    ``row`` (``"fused+sin"``), with the settings that it had, on all the data, those it was scored
    on included; nothing is left to score it. Another option may only say where the data are and
    how to execute. all_data: train any model so. seed: of initial weights, dropout and the order of
    the batches. attention, pe, task, data, suite, on, track, plugins, progress and options are as
    for ``zoo.bench``.

    Raises ZooError for bad usage or data, and
    ``zoo.inference.train.TrainingFailedError`` where the training itself fails.
    """
    from zoo.inference.train import find_training, request_again
    from zoo.inference.train import train as train_one

    options |= {"attention": attention, "pe": pe, "task": task, "data": stored(data, options)}
    fingerprint, files = "", _files(plugins)
    if from_ is None:
        if row:
            raise ZooError("--row is of a run: say which with --from (from_)")
        zoo = _load(files, suite)
        options |= {"suite": suite, "plugins": files}
        request, *others = build_requests(options, zoo.registry, ignored=COMPARING, several=False)
        if others:
            raise ZooError(f"zoo train takes one data set, not {len(others) + 1}")
    else:
        if suite:
            raise ZooError("--from and --suite both hold options: use one of them")
        directory = Path(from_) if isinstance(from_, str | Path) else from_.directory
        record = find_training(directory, row)
        zoo = _load([*values_in(record.command, "--plugin"), *files])
        request = request_again(record, options, zoo.registry)
        all_data = True
        fingerprint = record.config["data"]["fingerprint"] if data is None else ""
    with (
        scratch_directory() as scratch,
        contextlib.closing(TrackedProgress(for_python(progress), track, zoo)) as shown,
    ):
        place = scratch / "model" if save is None else Path(save)
        return train_one(
            request, zoo, shown, place, seed, on=on, all_data=all_data, fingerprint=fingerprint
        )


def build(
    cell: Mapping[str, str] | None = None,
    sizes: Sizes | Mapping[str, int] | None = None,
    *,
    classes: int | None = None,
    dropout: float = 0.0,
    seed: int = 0,
    plugins: Files | None = None,
) -> nn.Module:
    """An untrained encoder of these components, as a plain ``torch.nn.Module``.

    It maps token ids (B, L), and if texts are padded an ``attention_mask`` (B, L) that is true
    where a token is real, to vectors (B, L, dim); with ``classes``, to logits (B, classes) by the
    cell's pool and a linear layer. Padding may stand anywhere.

    cell: ``{"attention": "fused", "pe": "rope"}``; an axis that is not named has the default.
    sizes: ``{"dim": 64, "layers": 2, ...}``, by default those of ``zoo.config.sizes.Sizes``, of
    which a task may have others. seed: of the initial weights, which are those of ``zoo.bench`` for
    this cell, seed and sizes.

    Raises ZooError for names that do not exist, and for parts that cannot be combined or refuse
    these sizes.
    """
    from zoo.models.build import PlainEncoder, StackOptions, build_classifier, build_stack
    from zoo.models.stack import Encoder

    if unknown := [axis for axis in cell or {} if axis not in AXES]:
        raise ZooError(f"no axis '{unknown[0]}'; there is {', '.join(AXES)}")
    default = {axis: Request.model_fields[axis].default for axis in AXES}
    parts = Cell.parse(_load(plugins).registry, {**default, **(cell or {})})
    known = sizes if isinstance(sizes, Sizes) else validated(Sizes, sizes or {})
    if obstacle := parts.refusal(known, {"attention": {"padding"}}):
        raise ZooError(f"{parts} cannot be built: {obstacle}")
    options: StackOptions = {"vocab_size": known.vocab_size, "seed": seed, "dropout": dropout}
    try:
        if classes is None:
            return PlainEncoder(build_stack(Encoder, parts, known, **options))
        return PlainEncoder(build_classifier(parts, known, classes=classes, **options))
    except (ValueError, TypeError) as error:
        raise ZooError(f"{parts} cannot be built: {error}") from error


def build_requests(
    options: Mapping[str, Any],
    registry: Registry,
    ignored: Collection[str] = (),
    *,
    several: bool = True,
) -> list[Request]:
    """The requests of a suite's options and, over them, those given, one a data set.

    options: flat, None where one is not given. ignored: options that a suite may
    hold and that this command has no use for. several: as of ``make_request``. Raises ZooError.
    """
    chosen = {n: value for n, value in options.items() if value is not None}
    suite = load_suite(chosen.pop("suite")) if "suite" in chosen else {}
    suite = {name: value for name, value in suite.items() if name not in ignored}
    chosen["plugins"] = (*suite.get("plugins", ()), *chosen.get("plugins", ()))
    return make_requests(chosen, registry, suite, several=several)


def _files(plugins: Files | None) -> tuple[str, ...]:
    """Plug-in files as a tuple of paths."""
    return tuple(map(str, [plugins] if isinstance(plugins, str | Path) else plugins or ()))


def _load(plugins: Files | None, suite: str | Path | None = None) -> Zoo:
    """All components, with those of the files of a suite and of those given."""
    of_suite = load_suite(suite).get("plugins", ()) if suite else ()
    return loading.load([*of_suite, *_files(plugins)])
