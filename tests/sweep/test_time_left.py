"""How long a run still takes, as it says while it goes on."""

from __future__ import annotations

import io

import pytest
from test_progress import JOB, METRICS

from zoo.execution.base import Ended, Progress, Result, Started, Step
from zoo.sweep.progress import Shown, TimeLeft, about


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_estimate_converges_for_epochs_of_minutes():
    """Two jobs of 10 epochs of 100 seconds each, one after another: 2,000 seconds in all."""
    clock = Clock()
    left = TimeLeft(clock)
    left.begin(2)
    assert left.seconds() is None
    assert str(left) == ""
    for job in ("one", "two"):
        for epoch in range(1, 11):
            clock.now += 100
            left.advance(job, epoch / 10)
            assert left.seconds() == pytest.approx(2000 - (clock.now - 100), abs=1e-6)
    assert str(left) == ""


def test_it_counts_down_between_two_reports_and_never_below_nothing():
    clock = Clock()
    left = TimeLeft(clock)
    left.begin(1)
    clock.now += 60
    left.advance("one", 0.5)
    assert str(left) == "about 60 s left"
    clock.now += 40
    assert str(left) == "about 20 s left"
    clock.now += 90
    assert left.seconds() == 0


def test_jobs_at_once_count_each_as_far_as_it_has_come():
    clock = Clock()
    left = TimeLeft(clock)
    left.begin(4)
    clock.now += 30
    left.advance("one", 0.5)
    left.advance("two", 0.5)  # 1 of 4 in 30 seconds
    assert left.seconds() == pytest.approx(90)


def test_what_comes_after_the_phase_is_part_of_what_is_left():
    clock = Clock()
    left = TimeLeft(clock)
    left.begin(1)
    left.later = 25.0
    clock.now += 60
    left.advance("one", 0.5)
    assert left.seconds() == pytest.approx(60)
    assert str(left) == "about 85 s left"
    left.advance("one", 1.0)
    assert str(left) == ""


@pytest.mark.parametrize(
    ("seconds", "said"), [(40, "about 40 s"), (120, "about 2 min"), (9000, "about 2.5 h")]
)
def test_a_time_in_words(seconds, said):
    assert about(seconds) == said


def test_plain_lines_say_how_long_the_whole_takes_once_and_then_what_is_left():
    stream, clock = io.StringIO(), Clock()
    plain = Shown(stream)
    plain.left = TimeLeft(clock)
    plain.phase("train", 2)
    plain.event(Started(JOB))
    clock.now += 31
    plain.event(Progress(JOB, Step(0.1, 2)), METRICS)  # within the first epoch
    plain.event(Progress(JOB, Step(1, 2, 0.5)), METRICS)
    clock.now += 94
    plain.event(Ended(JOB, Result(seconds=100.0)), METRICS)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "train: 2 to run"
    assert lines[1] == "train: about 20 min left, from the first steps"
    assert lines[2] == "train 1/2 some: ok [100.0 s], about 2 min left"
    assert len(lines) == 3
