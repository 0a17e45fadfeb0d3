"""From options to a request: the defaults of a task, and what is not an option of it."""

import re
from pathlib import Path

import pytest
from refused import refused

from zoo.sweep.make_request import make_request

OTHERS = [
    ({"task": "seq2seq", "text_column": "x"}, "--task classify or lm or mlm, and this is seq2seq"),
    ({"token_delation": 0.1}, "no option 'token_delation'; did you mean 'token_deletion'?"),
    ({"task": "mlm", "maskd": 0.3}, "no option 'maskd'; did you mean 'masked'?"),
    ({"task": "lm", "epoch": 3}, "no option 'epoch'; did you mean 'epochs'?"),
    ({"task_options": {"head_hidden": 2}}, "no option 'task_options'"),
    ({"head_hidden": -1}, "--set head_hidden=-1"),
    ({"seeds": 0}, "--seeds 0: at least 1"),
    ({"seeds": "three"}, "--seeds three: Input should be a valid tuple"),
]


@pytest.mark.parametrize(("options", "says"), OTHERS, ids=str)
def test_what_is_not_an_option_of_the_task_is_refused_by_name(options, says, registry):
    refused(re.escape(says), make_request, options, registry)


def test_tasks_have_defaults_of_their_own_and_what_is_given_wins(registry):
    request = make_request({"task": "lm", "dim": 32}, registry)
    assert (request.baseline, request.sizes.dim, request.sizes.max_length) == ("ngram", 32, 128)
    assert (request.training.epochs, request.training.batch_size) == (2, 8)
    assert make_request({"task": "lm", "max_length": 64}, registry).sizes.max_length == 64
    seq2seq = make_request({"task": "seq2seq"}, registry)
    assert seq2seq.baseline == "none"
    classify = make_request({}, registry)
    assert (classify.task, classify.sizes.max_length) == ("classify", 128)
    assert classify.baseline == "tfidf-logreg"
    assert "masked" not in classify.task_options


def test_options_of_python_mean_what_they_say_on_the_command_line(registry):
    request = make_request(
        {"attention": ["fused", "naive"], "seeds": 3, "phases": "cost", "data": Path("a.csv")},
        registry,
    )
    assert request.attention == "fused,naive"
    assert request.seeds == (0, 1, 2)
    assert request.phases == ("cost",)
    assert request.data == "a.csv"
    assert make_request({"seeds": (4, 2)}, registry).seeds == (4, 2)
    # What is None is not given, also where the task has no use for it.
    nothing = {"pool": None, "masked": None, "dim": None}
    assert make_request({"task": "lm", **nothing}, registry).sizes.dim == 64
