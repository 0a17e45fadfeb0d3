"""Options that are made from the pydantic models: help, completion, values, and bad input."""

import re
from typing import Any

import pytest
from small_runs import FAILING, QUICK, SIZES, flags

from zoo.cli.request_options import SECTIONS
from zoo.config.request import COMPARING, flat_fields
from zoo.config.settings import SETTINGS, flag
from zoo.sweep.options import as_text
from zoo.tasks.base import find_task

REQUESTS = ("bench", "train")
TASK = '''
"""A task of which nothing works but its options."""

from pydantic import BaseModel, Field

from zoo import hookimpl
from zoo.tasks.base import Task, TaskOptions


class Units(BaseModel):
    unit_column: str = "unit"


class CountOptions(TaskOptions):
    unit_column: str = Field("unit", description="Column of the units.")
    largest: int = Field(9, description="Largest number.")
    aloud: bool = Field(False, description="Count aloud.")
    masked: str = Field("all", description="Who counts.")


class Count(Task):
    options = CountOptions
    reads_rows = Units
    metrics = ("accuracy",)
    defaults = {"epochs": 77}


Count.__abstractmethods__ = frozenset()


class Broken:
    def __init__(self):
        raise RuntimeError("no such luck")


@hookimpl
def zoo_register(register):
    register("task", "count", Count, summary="counting")
    register("task", "broken", Broken, summary="cannot be built")
'''


def test_bench_has_an_option_for_every_field_and_its_default(registry, said):
    entries = re.split(r"\n  (?=--|[a-z_]+=)", said("bench", "--help").out)
    fields: dict[str, Any] = flat_fields()
    for label in registry.labels("task"):
        fields |= dict.fromkeys(find_task(registry, label).options.model_fields)
    del fields["plugins"], fields["seeds"]
    for name, model in fields.items():
        start = f"{name}=" if name in SETTINGS else f"{flag(name)} "
        (about,) = (entry for entry in entries if entry.startswith(start))
        default = model and as_text(model.model_fields[name].default)
        assert not default or f"default: {default}" in " ".join(about.split())


@pytest.mark.parametrize("command", REQUESTS)
def test_options_are_in_sections_of_one_order(command, said):
    whole = said(command, "--help").out
    headings = re.findall(r"^(\S.*):$", whole, re.MULTILINE)
    assert headings == [section for section in SECTIONS if section in headings]
    assert set(SECTIONS) == set(headings)
    # zoo train has no option of comparing.
    options = set(re.findall(r"^  (?:--)?([a-z_-]+)[ =]", whole, re.MULTILINE))
    assert bool(set(COMPARING) & options) == (command != "train")


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["bench", "--num-layers", "1"], "did you mean --set layers=…?"),
        (["bench", "--dropout", "0.1"], "it is --set dropout=…"),
        (["train", "--no-compile"], "it is --set compile=…"),
        (["bench", "--set", "epochs=1"], "it is --epochs"),
        (["train", "--seeds", "3"], "did you mean --seed?"),
        (["bench", "--qqq", "1"], "--help lists them"),
    ],
)
def test_a_wrong_option_leads_to_the_nearest_and_an_unlikely_one_to_none(
    arguments, meant, refused_command
):
    command, *words = arguments
    given = " ".join(words).partition("=")[0] if "--set" in words else words[0]
    line = f"zoo {command}: error: no option '{given}'; {meant}"
    assert refused_command(*arguments) == line


def test_a_task_from_a_plug_in_file_has_options_and_a_broken_one_a_warning(folder, said):
    (folder / "tasks.py").write_text(TASK)
    printed = said("bench", "--plugin", "tasks.py", "--help")
    text = " ".join(printed.out.split())
    assert "--largest N Largest number. [count only; default: 9]" in text
    assert "--aloud / --no-aloud Count aloud. [count only; default: no]" in text
    assert "[default: 6; classify: 3; lm: 2; seq2seq: 12; count: 77]" in text
    # Two tasks give this option different types: each gets the text.
    assert "masked=TEXT" in text
    (warning,) = printed.err.splitlines()
    assert warning.startswith("warning: the options of task 'broken' are left out: ")
    assert "no such luck" in warning
    assert "--unit-column" in text


SUITES = {
    "typo.toml": "epoch = 3\n",
    "usual.toml": "num_layers = 0.1\n",
    "value.toml": 'schedule = "wrong"\n',
    "other.toml": "causal = true\n",
    "plugins.toml": "plugins = 3\n",
    "mixed.toml": "plugins = [3]\n",
    "gone.toml": 'plugins = ["gone.py"]\n',
    "broken.toml": "epochs = \n",
    "task.toml": 'task = "nope"\n',
    "phases.toml": 'phases = "train,,cost"\n',
    "where.toml": 'on = "local"\n',
    "good.toml": "epochs = 1\n",
}
# Each with the command of its first word; those of "every" with bench and train.
BAD: list[tuple[str, str]] = [
    ("every --plugin missing.py", "missing.py cannot be read: No such file"),
    ("every --plugin raises.py", "raises.py cannot be used: "),
    ("bench --plugin nothing.py", "nothing.py cannot be used: "),
    ("bench --suite missing.toml", "suite missing.toml cannot be read: No such file"),
    ("train --suite typo.toml", "no option 'epoch'; did you mean 'epochs'?"),
    ("bench --suite usual.toml", "no option 'num_layers'; did you mean 'layers'?"),
    ("bench --suite value.toml", "--set schedule=wrong: "),
    ("bench --suite other.toml", "--set causal is an option of --task tag"),
    ("bench --suite plugins.toml", "suite plugins.toml: plugins = 3: expected a list of files"),
    ("bench --suite mixed.toml", "suite mixed.toml: plugins = [3]: expected a list of files"),
    ("bench --suite gone.toml", "gone.py cannot be read"),
    ("bench --suite broken.toml", "suite broken.toml is not TOML"),
    ("bench --suite task.toml", "no task 'nope'"),
    ("bench --suite phases.toml", "--phases 'train,,cost': an empty name beside a comma"),
    ("bench --suite where.toml", "no option 'on'"),
    (
        "bench --suite good.toml --set schedule=wrong",
        "error: --set schedule=wrong: Input should be 'linear', 'cosine' or",
    ),
    ("every --set dim=x", "--set dim=x: Input should be a valid integer"),
    ("every --set dim=0", "--set dim=0: "),
    ("every --set dim=8,heads=0", "--set heads=0: "),
    ("every --set dim", "--set dim: write --set NAME=VALUE"),
    ("every --set", "Option '--set' requires an argument"),
    ("train --lr x", "--lr x: Input should be a valid number"),
    ("bench --design wrong", "'factorial' or 'one-factor'"),
    ("bench --phases wrong", "'train' or 'cost'"),
    ("bench --phases train,", "--phases 'train,': an empty name beside a comma"),
    ("bench --phases=", "'train' or 'cost'"),
    ("every --on nope", "no executor 'nope'. There is: local, inline"),
    ("bench --on local(x=1)", "executor 'local' has no parameter 'x'"),
    ("bench --on=", "no executor ''"),
    ("every --task nope", "no task 'nope'"),
    ("bench --task classify(x=1)", "task 'classify' has no parameter 'x'"),
    ("bench --plan --seeds 99999999999999999999", "at most 10000"),
    ("bench --plan --seed 99999999999999999999", "--seeds 99999999999999999999: "),
    ("bench --seeds x", "Invalid value for '--seeds'"),
    ("bench --seed -1", "--seed"),
    ("train --seed -1", "--seed"),
    ("bench --seeds 2 --seed 3", "use one of the two"),
    ("bench --device gpu", "--device gpu: expected auto, cpu, cuda, cuda:N or mps"),
    ("bench --set compile=perhaps", "--set compile=perhaps: "),
    ("bench --head-hiden", "did you mean --set head_hidden=…?"),
    ("bench --no-headers", "no option '--no-headers'; did you mean --no-header?"),
]
CASES = [
    (text.replace("every", command, 1), says)
    for text, says in BAD
    for command in (REQUESTS if text.startswith("every") else [""])
]


@pytest.mark.parametrize(("text", "message"), CASES)
def test_bad_input_is_one_line_and_nothing_is_written(text, message, folder, refused_command):
    for name, content in SUITES.items():
        (folder / name).write_text(content)
    (folder / "raises.py").write_text("raise RuntimeError('oh no')\n")
    (folder / "nothing.py").write_text("")
    (folder / "file").write_text("")
    bytecode = folder / "__pycache__"  # Python's own, where it may write any
    before = {*folder.iterdir(), bytecode}
    command, *arguments = text.split()
    words = [*flags({name: QUICK[name] for name in SIZES}), "--on", "inline"]
    words += ["--data", str(QUICK["data"])]
    words += ["--save", "new/deep/model"] if command == "train" else ["--out", "new/out"]
    line = refused_command(command, *words, *arguments)
    assert line.startswith(f"zoo {command}: error: ")
    assert message in line
    assert {*folder.iterdir(), bytecode} == before


def test_plug_ins_and_options_of_a_suite_and_of_the_command_line(folder, said):
    """The plug-ins of both are used; of an option the command line has the last word."""
    (folder / "tasks.py").write_text(TASK)
    (folder / "grid.toml").write_text(
        f'attention = "fused,raises"\npe = "sin"\nplugins = "{FAILING}"\n'
    )
    arguments = ["--suite", "grid.toml", "--plugin", "tasks.py", "--pe", "rope", "--largest", "3"]
    told = said("bench", *arguments, "--plan", status=2).err
    assert "--largest is an option of --task count" in told
    lines = said("bench", *flags(QUICK), *arguments[:-2], "--plan").out.splitlines()
    assert [line.split()[:2] for line in lines if line.endswith("run")] == [
        ["fused", "rope"],
        ["raises", "rope"],
    ]
