"""The models that a run keeps (``--save-models``), as directories that ``zoo.load`` takes.

They are ``models/ROW-seed-S-KEY`` in the run's directory. A training leaves its weights among the
unfinished work, where a run that was interrupted finds them again, until it is known which models
are kept.
"""

from __future__ import annotations

import contextlib
import json
import shutil

from zoo.execution.base import UNFINISHED, WEIGHTS, Result
from zoo.inference.train import write_model
from zoo.report.run_report import RunReport
from zoo.sweep.records import Record
from zoo.sweep.run import Run
from zoo.sweep.train_rows import MODELS, OUTPUTS, kept_weights, model_place, train_again, train_job


def keep_models(run: Run) -> None:
    """Have every model in its directory that the run's request keeps.

    The best are those of the row that the report's answer names. Models whose weights are not
    there are trained again: those of runs that kept no models, or others.
    """
    which = run.request.save_models
    if which == "none" or "train" not in run.request.phases:
        return
    best = None
    if which == "best" and run.records:
        best = RunReport(run.records, metric=run.request.metric).best
    for draft in (run.directory / MODELS).glob(".*.draft"):  # left by a kill
        shutil.rmtree(draft)
    records = [
        record
        for record in run.records
        if record.kind == "train"
        and record.status == "ok"
        and record.cell
        and (which == "all" or (best and record.name == best.name))
    ]
    missing = [record for record in records if not _written(run, record)]
    train_again(run, missing)
    for record in missing:
        _written(run, record)
    # Of jobs too whose record was written just before an interruption.
    for name in (MODELS, *(record.key for record in run.records)):
        shutil.rmtree(run.directory / UNFINISHED / name, ignore_errors=True)
    with contextlib.suppress(OSError):
        (run.directory / UNFINISHED).rmdir()


def _written(run: Run, record: Record) -> bool:
    """Whether the model of a record is in its directory, where it is put if its weights are there.

    The record then says where it is.
    """
    place = model_place(record.name, record.seed, record.key)
    directory, weights = run.directory / place, kept_weights(run, record.key)
    if weights.is_file():
        shutil.rmtree(directory, ignore_errors=True)
        directory.parent.mkdir(exist_ok=True)
        result = Result(
            metrics={n: value for n, value in record.metrics.items() if n != "seconds"},
            curve=record.curve,
            environment=record.environment,
            sample_outputs=json.loads((weights.parent / OUTPUTS).read_text()),
            artifacts={WEIGHTS: weights},
        )
        write_model(run, train_job(run, record), result, directory)
    if directory.is_dir() and record.model != place:
        run.replace(record, model=place)
    return directory.is_dir()
