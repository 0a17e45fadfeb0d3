"""Scores of classification."""

import math

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score

from zoo.config.settings import Training
from zoo.config.sizes import Sizes
from zoo.registry import Owner, Register
from zoo.tasks.base import Metric, TaskSetup
from zoo.tasks.classify import Classify, ClassifyOptions, class_evaluation
from zoo.tasks.metrics import accuracy, macro_f1


def test_scores_are_scikit_learns():
    draw = np.random.default_rng(0)
    truth, guess = draw.integers(0, 4, 200), draw.integers(0, 3, 200)
    evaluation = class_evaluation(guess, truth, 5)
    assert accuracy().compute(evaluation.outputs) == accuracy_score(truth, guess)
    every = [0, 1, 2, 3, 4]
    expected = f1_score(truth, guess, average="macro", zero_division=0)
    assert macro_f1().compute(evaluation.outputs) == expected
    assert evaluation.details["examples"] == 200
    assert evaluation.details["confusion"] == confusion_matrix(truth, guess, labels=every).tolist()
    assert len(evaluation.details["errors"]) == (truth != guess).sum()
    assert all(truth[r] == t and guess[r] == g for r, t, g in evaluation.details["errors"])


@pytest.mark.parametrize("value", [None, "text", 7.0, math.nan])
def test_a_metric_that_gives_no_number_of_its_range_is_refused(value):
    metric = Metric(accuracy().description, lambda outputs: value)
    with pytest.raises(ValueError, match=f"'accuracy' gave '?{value}'?, not a number from 0 to 1"):
        metric.of({})


def test_a_model_of_another_library_has_the_head_of_the_cells(registry):
    register = Register(Owner("elsewhere", "1"))
    register("baseline", "theirs", dict, summary="", capabilities=("tokens", "head"))
    registry.admit(register)
    options = ClassifyOptions(head_hidden=5)
    setup = TaskSetup(Classify(), options, Sizes(), Training(dropout=0.25), 40, ["a", "b", "c"])
    built = setup.task.build_baseline(setup, registry.choose("baseline", "theirs"))
    assert built["head_hidden"] == 5
    assert (built["vocab_size"], built["classes"], built["dropout"]) == (40, 3, 0.25)
