"""The published profile travels with the package."""

import json
import lzma
from pathlib import Path

import factory
import numpy as np
from hatchling.builders.wheel import WheelBuilder

from bench.publish.carried import carried, write_carried
from bench.publish.questions import PROFILE
from zoo.report.stats.learning import learning_of
from zoo.sweep.against import CARRIED
from zoo.sweep.records import FILE, Record

RESULTS = Path(__file__).parents[3] / "results"


def read(file):
    lines = lzma.decompress(file.read_bytes()).splitlines() if file.exists() else []
    return [Record.model_validate_json(line) for line in lines]


def test_what_travels_is_what_is_published():
    assert read(CARRIED) == carried(RESULTS), "python -m bench.publish"


def test_the_wheel_has_it():
    root = RESULTS.parent
    assert WheelBuilder(str(root)).config.include_path(CARRIED.relative_to(root).as_posix())


def test_rows_learn_the_same_and_no_time_is_carried(tmp_path):
    place = tmp_path / PROFILE / "copy"
    place.mkdir(parents=True)
    examples = {0.001: [None, 24_000], 0.003: [1600, None]}
    records = [
        record.model_copy(update={"curve": [{"loss": 0.5}], "command": "zoo bench"})
        for pe in ("rope", "none")
        for record in factory.streamed(factory.cell(pe=pe), examples)
    ]
    lines = (json.dumps(record.model_dump()) for record in [*records, *factory.seeds("words", [2])])
    place.joinpath(FILE).write_text("".join(f"{line}\n" for line in lines))
    write_carried(tmp_path, file := tmp_path / "carried.xz")
    there, here = learning_of(read(file)), learning_of(records)
    assert list(there) == list(here)
    for name, row in here.items():
        for part in ("examples", "solved", "scores"):
            np.testing.assert_array_equal(getattr(there[name], part), getattr(row, part))
        assert (there[name].rates, there[name].seeds) == (row.rates, row.seeds)
    for whole, record in zip(records, read(file), strict=True):
        assert (record.code, record.config) == (whole.code, whole.config)
        assert "train_seconds" not in record.metrics
        assert (record.curve, record.command) == ([], "")
