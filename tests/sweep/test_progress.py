"""What is shown while a run goes on, and how long it still takes."""

import io

import pytest
from small_runs import cell

from zoo.config.settings import Execution, Training
from zoo.config.sizes import Sizes
from zoo.execution.base import (
    Advanced,
    CostJob,
    Ended,
    JobSetup,
    Result,
    Started,
    Step,
    TrainJob,
)
from zoo.sweep.progress import Shown
from zoo.tasks.metrics import accuracy, macro_f1

SETUP = JobSetup("classify", {}, Sizes(), Training(), Execution())
JOB = TrainJob(SETUP, "some", "key", model=cell())
METRICS = [macro_f1().description, accuracy().description]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_bars_and_a_pipe_plain_lines():
    for stream in (Terminal(), io.StringIO()):
        shown = Shown(stream)
        shown.phase("train", 1)
        shown.event(Started(JOB))
        shown.event(Advanced(JOB, Step(1, 30, 0.5)), METRICS)
        shown.event(Ended(JOB, Result(metrics={"accuracy": 0.5, "macro_f1": 0.25})), METRICS)
        shown.close()
        said = stream.getvalue()
        assert ("\r" in said and "1/1 [00:00<00:00" in said) == stream.isatty()
        assert ("train: 1 to run\n" in said) != stream.isatty()


def test_a_plain_line_has_the_time_left_once_two_jobs_have_ended():
    stream = io.StringIO()
    shown = Shown(stream)
    shown.phase("train", 4)
    shown.began -= 600  # ten minutes ago
    for _ in range(4):
        shown.event(Ended(JOB, Result(seconds=300.0)), METRICS)
    _, *lines = stream.getvalue().splitlines()
    ends = ["[300.0 s]", "s, 10 min left]", "s, 3 min left]", "[300.0 s]"]
    assert all(line.endswith(end) for line, end in zip(lines, ends, strict=True))


@pytest.mark.parametrize(
    ("job", "result", "line"),
    [
        (JOB, Result("oom", "out of memory"), "some: oom: out of memory [0.0 s]"),
        (
            JOB,
            Result(metrics={"accuracy": 0.5, "macro_f1": 0.25}, seconds=1.25),
            "some: macro F1 0.250 [1.2 s]",
        ),
        (
            CostJob(SETUP, "group 1 of 1", "key"),
            Result(members=(Result(), Result("crashed", "no such luck"))),
            "group 1 of 1: 1 of 2 failed: crashed: no such luck [0.0 s]",
        ),
        (CostJob(SETUP, "group 1 of 1", "key"), Result(members=(Result(),)), "1: ok [0.0 s]"),
    ],
    ids=["failed", "scored", "some members failed", "measured"],
)
def test_the_line_of_a_job_gives_its_score_or_why_it_failed(job, result, line):
    stream = io.StringIO()
    progress = Shown(stream)
    progress.phase("train", 3)
    progress.event(Started(job), METRICS)
    progress.event(Advanced(job, Step(1, 2, 0.5)), METRICS)
    progress.event(Ended(job, result), METRICS)
    first, second = stream.getvalue().splitlines()
    assert first == "train: 3 to run"
    assert second.startswith("train 1/3 ")
    assert second.endswith(line)


def test_the_bar_of_a_run_is_full_when_its_jobs_have_ended():
    """Also where a job ends that never started, as one whose result is known does."""
    shown = Shown(io.StringIO(), bars=True)
    shown.phase("train", 2)
    shown.event(Started(JOB))
    shown.event(Advanced(JOB, Step(1, 4, 0.5)))
    assert shown.bar.n == 0
    assert "some 1/4 loss 0.500" in shown.bar.postfix
    shown.event(Ended(JOB, Result()))
    other = TrainJob(SETUP, "other", "other", model=cell())
    shown.event(Ended(other, Result("crashed", "no such luck")))
    assert shown.bar.n == 2
    assert "other: crashed: no such luck" in shown.bar.postfix
    shown.close()
