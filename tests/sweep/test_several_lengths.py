"""Costs at several lengths: a measurement of every cell at every length, whatever fails."""

import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from small_runs import executor_plugin

from zoo.cli import main
from zoo.execution.base import CostJob, Ended, Event, Job, Limits, Result, Started
from zoo.execution.local import InlineExecutor
from zoo.registry.loading import load
from zoo.sweep.cost import measure_lengths
from zoo.sweep.make_request import make_request
from zoo.sweep.progress import Progress

LEAST = "--phases cost --set dim=8,heads=2,ffn_dim=8,layers=1,blocks=1,batch_size=1 --threads 1"
COSTS = {"phases": "cost", "batch_size": 1, "device": "cpu"}


def measured(*words: str | Path) -> int:
    return main(["bench", "--on", "inline", "--device", "cpu", *LEAST.split(), *map(str, words)])


def records(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "scale.jsonl").read_text().splitlines()]


def test_a_language_model_is_measured_causally(tmp_path):
    words = ["--task", "lm", "--attention", "fused,torch", "--pe", "rope", "--max-length", "64,128"]
    assert measured(*words, "--set", "vocab_size=2000", "--set", "dim=64", "--out", tmp_path) == 0
    found = {r["cell"]["attention"]: r for r in records(tmp_path)}
    assert found["fused"]["status"] == "ok"
    assert found["fused"]["config"]["task"] == "lm"
    assert found["fused"]["metrics"]["train_memory_mib"] > 0
    assert found["torch"]["status"] == "skipped"
    assert found["torch"]["reason"] == "torch cannot rotate queries and keys, which rope needs"


def test_a_step_that_takes_too_long_is_a_record(tmp_path):
    """A real process is ended; a cost measurement starts its own on every executor."""
    words = ["--set", "timeout=0.01", "--max-length", "8,16", "--on", "local"]
    assert measured(*words, "--out", tmp_path) == 0
    assert [(r["status"], r["reason"]) for r in records(tmp_path)] == [
        ("timeout", "took longer than 0.01 s"),
        ("skipped", "timeout at length 8"),
    ]


class Scripted(InlineExecutor):
    """Gives the results that ``failures`` says: (attention, length) to a status."""

    failures: ClassVar[dict[tuple[str, int], str]] = {}
    measured: ClassVar[list[tuple[str, int]]] = []

    def run(self, jobs: Sequence[Job], *, limits: Limits, directory: Path) -> Iterator[Event]:
        for job in jobs:
            if not isinstance(job, CostJob):
                yield from super().run([job], limits=limits, directory=directory)
                continue
            yield Started(job)
            yield Ended(job, Result(members=tuple(self.result(job, m) for m in job.members)))

    def result(self, job: CostJob, member: Any) -> Result:
        assert member.full_length == 1
        point = str(member.model["attention"][0]), job.setup.sizes.max_length
        self.measured.append(point)
        if point in self.failures:
            return Result(self.failures[point], "a reason", "a traceback")
        samples = {
            "clock": "cpu",
            "turns": {"train": {"cpu": [[0.2, 0.1], [0.3]]}, "infer": {"cpu": [[0.05]]}},
            "memory": {p: {"peak_mib": 1.0, "how": "made up"} for p in ("training", "inference")},
        }
        return Result(samples=samples)


def test_lengths_are_reused_and_extended(tmp_path, monkeypatch, said, refused_command):
    monkeypatch.setattr(Scripted, "failures", {("naive", 16): "oom"})
    plugin = executor_plugin(tmp_path, "scripted", f"{__name__}:Scripted")
    out = tmp_path / "out"
    words = ["bench", "--on", "scripted", "--plugin", plugin, "--device", "cpu", *LEAST.split()]
    words += ["--attention", "fused,naive", "--out", out]
    assert "oom" in said(*words, "--max-length", "8,16").out
    before = (out / "scale.jsonl").read_text()
    with (out / "scale.jsonl").open("a") as file:
        file.write('{"unfinished')  # a kill in the middle of a line
    printed = said(*words, "--max-length", "8,16,32")
    assert (out / "scale.jsonl").read_text().startswith(before.partition("\n")[0])
    assert [r["config"]["value"] for r in records(out) if "fused" in r["cell"]["attention"]] == [
        8, 16, 32
    ]  # fmt: skip
    assert "Grows with length" in printed.out
    assert {"scale.csv", "scale.md", "scale.svg"} <= {file.name for file in out.iterdir()}
    # The command of a record repeats it, and other settings do not belong into its directory.
    record = records(out)[0]
    more = ["--on", "scripted", "--set", "blocks=1", "--threads", "1", "--out", tmp_path / "again"]
    said(*shlex.split(record["command"])[1:], *more, "--plugin", plugin)
    repeated = records(tmp_path / "again")[0]
    assert (repeated["config"], repeated["key"]) == (record["config"], record["key"])
    other = refused_command(*words, "--max-length", "8,16", "--set", "heads=1")
    assert "holds records of heads=2, not 1" in other


def test_a_cell_that_failed_is_skipped_at_larger_values_until_it_does_not(tmp_path):
    loaded = load([executor_plugin(tmp_path, "scripted", f"{__name__}:Scripted")])

    def measure(values: tuple[int, ...], **options: Any) -> dict[tuple[str, int], str]:
        Scripted.measured = []
        request = make_request(
            {**COSTS, "attention": "naive,fused", "max_length": values, **options},
            loaded.registry,
        )
        out = tmp_path / "out"
        found = measure_lengths(request, loaded, Progress(), directory=out, on="scripted")
        return {
            (r.cell["attention"], r.config["value"]): r.status
            if r.status != "skipped"
            else r.reason
            for r in found
        }

    Scripted.failures = {("naive", 16): "oom", ("fused", 32): "crashed"}
    first = measure((8, 16, 32, 64))
    assert first == {
        ("naive", 8): "ok", ("naive", 16): "oom", ("naive", 32): "oom at length 16",
        ("naive", 64): "oom at length 16", ("fused", 8): "ok", ("fused", 16): "ok",
        ("fused", 32): "crashed", ("fused", 64): "crashed at length 32",
    }  # fmt: skip
    by_status = {r["status"]: r for r in records(tmp_path / "out")}
    assert by_status["oom"]["reason"] == "a reason"
    assert by_status["oom"]["traceback"] == "a traceback"
    ok = next(r for r in records(tmp_path / "out") if r["status"] == "ok")
    assert ok["metrics"]["train_seconds"] == pytest.approx(0.2)
    # The same again measures what failed, and nothing else.
    assert measure((8, 16, 32, 64)) == first
    assert Scripted.measured == [("naive", 16), ("fused", 32)]
    # Once it does not fail, what was skipped for it is measured too.
    Scripted.failures = {}
    assert set(measure((8, 16, 32, 64)).values()) == {"ok"}
    assert Scripted.measured == [
        ("naive", 16), ("naive", 32), ("fused", 32), ("naive", 64), ("fused", 64)
    ]  # fmt: skip
    # What was measured in fewer blocks is measured again.
    measure((8, 16), blocks=7)
    assert Scripted.measured[:2] == [("naive", 8), ("fused", 8)]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--max-length", "8,x"], "--max-length"),
        (["--max-length", "8,0"], "--max-length"),
        (["--max-length", "8,16", "--phases", "train,cost"], "for costs alone"),
        (["--max-length", "8,16", "--data", "newswire"], "made up"),
        (["--max-length", "8,16", "--lr", "1e-3,1e-2"], "takes one value"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_bad_usage_is_one_line_and_nothing_is_written(words, says, tmp_path, refused_command):
    out = tmp_path / "out"
    assert says in refused_command("bench", "--phases", "cost", *words, "--out", out)
    assert not (out / "scale.jsonl").exists()
