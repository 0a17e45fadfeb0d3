"""Options that are made from the pydantic models: help, completion, values, and bad input."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from classify_runs import FAILING, SIZES, TASK, WORDS
from console import ENV

from zoo.cli import main
from zoo.cli.request_help import SECTIONS
from zoo.cli.request_options import RequestCommand
from zoo.config.request import COMPARING, flat_fields
from zoo.config.usual_names import NAMES
from zoo.registry import Registry
from zoo.tasks.base import find_task

REQUESTS = ("bench", "scale", "train")


def help_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main([*arguments, "--help-all"]) == 0
    return capsys.readouterr().out


def test_help_of_requests_does_not_import_torch() -> None:
    program = (
        "import sys; from zoo.cli import main\n"
        f"for command in {REQUESTS}: main([command, '--help'])\n"
        "print(sorted({m.partition('.')[0] for m in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=ENV, check=True
    )
    imported = done.stdout.splitlines()[-1]
    for heavy in ("torch", "pandas", "sklearn", "scipy", "datasets", "matplotlib", "tokenizers"):
        assert f"'{heavy}'" not in imported


def test_bench_has_an_option_for_every_field_and_its_default(
    registry: Registry, capsys: pytest.CaptureFixture[str]
) -> None:
    text = " ".join(help_of(capsys, "bench").partition("What:")[2].split())
    fields = dict.fromkeys(flat_fields())
    for label in registry.labels("task"):
        fields |= dict.fromkeys(find_task(registry, label).options.model_fields)
    del fields["plugins"]
    starts = {name: text.find(f" --{name.replace('_', '-')} ") for name in fields}
    assert [name for name, start in starts.items() if start < 0] == []
    for start in starts.values():
        assert "default" in re.split(r" --(?!no-)[a-z]", text[start + 1 :])[0], text[start:][:99]


@pytest.mark.parametrize("command", REQUESTS)
def test_options_are_in_sections_of_one_order(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    headings = re.findall(r"^(\S.*):$", help_of(capsys, command), re.MULTILINE)
    assert headings == [section for section in SECTIONS if section in headings]
    assert {"What", "Model", "Training", "Where", "Output"} <= set(headings)


@pytest.mark.parametrize("command", REQUESTS)
def test_the_short_help_is_under_60_lines_and_has_the_default_of_every_option(
    command: str, registry: Registry, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 60
    assert max(map(len, lines)) <= 80
    shown = dict(re.findall(r"^  (--[a-z-]+) ?(.*(?:\n {10,}.*)*)", "\n".join(lines), re.MULTILINE))
    whole = help_of(capsys, command)
    assert set(shown) <= set(re.findall(r"--[a-z-]+", whole))
    count = len(re.findall(r"^  (?:-h, )?--", whole, re.MULTILINE))
    assert lines[-1].endswith(f"--help-all describes all {count} options.")
    assert shown.pop("--attention").endswith("[fused]")
    fields = flat_fields()
    for name, text in shown.items():
        model = fields.get(name[2:].replace("-", "_"))
        default = model and model.model_fields[name[2:].replace("-", "_")].default
        # Seeds are a number there; zoo scale has a batch size of its own.
        if default and name not in ("--seeds", "--batch-size"):
            listed = default if isinstance(default, tuple) else [default]
            assert f"[{','.join(map(str, listed))}" in text, name


def test_help_of_train_has_no_option_of_comparing(capsys: pytest.CaptureFixture[str]) -> None:
    whole = help_of(capsys, "train")
    options = set(re.findall(r"^  (--[a-z-]+)", whole, re.MULTILINE))
    assert not {f"--{name.replace('_', '-')}" for name in COMPARING} & options
    assert not {"--tuning-seeds", "--rounds", "--seeds"} & options
    assert "Of several" not in whole.partition("Data:")[2].partition("--lr")[2]


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["bench", "--learning-rate", "1"], "did you mean --lr?"),
        (["bench", "--learning_rate", "1"], "did you mean --lr?"),
        (["bench", "--num-layers", "1"], "did you mean --layers?"),
        (["bench", "--test-fraction", "1"], "did you mean --test-size?"),
        (["bench", "--random-state", "1"], "did you mean --seeds?"),
        (["train", "--seeds", "3"], "did you mean --seed?"),
        (["train", "--output-dir", "x"], "did you mean --save?"),
        (["bench", "--qqq", "1"], "--help-all lists them"),
        # Alike by letters, and never meant.
        (["scale", "--encoding", "utf-8"], "--help-all lists them"),
        (["scale", "--test-size", "0.2"], "--help-all lists them"),
    ],
)
def test_usual_names_of_options_lead_to_the_zoos_and_unlikely_ones_to_none(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    command, flag, *_ = arguments
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"zoo {command}: error: no option '{flag}'; {meant}"


def test_usual_names_of_options_lead_to_the_zoos_in_a_suite(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "usual.toml").write_text("learning_rate = 0.1\n")
    assert main(["bench", "--suite", "usual.toml", "--plan"]) == 2
    assert "no option 'learning_rate'; did you mean 'lr'?" in capsys.readouterr().err


def test_every_usual_name_belongs_to_an_option_that_exists(registry: Registry) -> None:
    from zoo.cli.bench import bench
    from zoo.cli.train import train

    known = set()
    for command in (bench, train):
        with click.Context(command) as context:
            known |= {f for p in command.get_params(context) for f in (*p.opts, p.name)}
    flags = {str(flag)[2:].replace("-", "_") for flag in known if str(flag).startswith("--")}
    assert set(NAMES) <= flags
    assert not [name for name, usual in NAMES.items() if name in usual]


def test_defaults_of_a_task_are_next_to_the_common_one(capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(help_of(capsys, "bench").split())
    assert "[default: 256; lm: 128; seq2seq: 32]" in text
    assert "Beams of the beam search that is scored. [seq2seq only; default: 4]" in text


def test_a_task_from_a_plug_in_file_has_options_and_a_broken_one_a_warning(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tasks.py").write_text(TASK)
    assert main(["bench", "--plugin", "tasks.py", "--help-all"]) == 0
    printed = capsys.readouterr()
    text = " ".join(printed.out.split())
    assert "--largest N Largest number. [count only; default: 9]" in text
    assert "--aloud / --no-aloud Count aloud. [count only; default: no]" in text
    assert "[default: 6; lm: 2; seq2seq: 12; count: 77]" in text
    # Two tasks give this option different types: each gets the text.
    assert "--ensemble TEXT" in text
    (warning,) = printed.err.splitlines()
    assert warning.startswith("warning: the options of task 'broken' are left out: ")
    assert "no such luck" in warning
    assert "--unit-column" in text
    assert "--unit-column" not in help_of(capsys, "scale", "--plugin", "tasks.py")


def test_an_option_of_another_task_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--beam", "3", "--plan"]) == 2
    assert "--beam is an option of --task seq2seq, and this is classify" in capsys.readouterr().err


@pytest.mark.parametrize("command", REQUESTS)
def test_shells_complete_generated_options(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def completed(word: str) -> set[str]:
        monkeypatch.setenv("_ZOO_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", f"zoo {command} {word}")
        monkeypatch.setenv("COMP_CWORD", "2")
        assert main([]) == 0
        return {line.partition(",")[2] for line in capsys.readouterr().out.splitlines()}

    assert completed("--vocab") == {"--vocab-size"}
    assert completed("--all-pos") == {"--all-positions"}
    assert completed("--no-all-pos") == {"--no-all-positions"}
    assert {"--dim", "--dropout", "--device"} <= completed("--d")


@pytest.mark.parametrize(
    ("flags", "expected"),
    [([], None), (["--all-positions"], True), (["--no-all-positions"], False)],
)
def test_a_boolean_has_a_flag_for_yes_and_one_for_no(
    flags: list[str], expected: bool | None
) -> None:
    from zoo.cli.bench import bench

    assert isinstance(bench, RequestCommand)
    with click.Context(bench, info_name="bench") as context:
        bench.parse_args(context, flags)
        assert context.params["all_positions"] is expected


SUITES = {
    "typo.toml": "epoch = 3\n",
    "value.toml": 'schedule = "wrong"\n',
    "seeds.toml": "seeds = 0\n",
    "plugins.toml": "plugins = 3\n",
    "mixed.toml": "plugins = [3]\n",
    "gone.toml": 'plugins = ["gone.py"]\n',
    "broken.toml": "epochs = \n",
    "task.toml": 'task = "nope"\n',
    "phases.toml": 'phases = "train,,cost"\n',
    "good.toml": "epochs = 1\n",
}
BAD: list[tuple[list[str], str]] = [
    (["--plugin", "missing.py"], "missing.py cannot be read: No such file"),
    (["--plugin", "raises.py"], "raises.py cannot be used: "),
    (["--plugin", "nothing.py"], "nothing.py cannot be used: "),
    (["--suite", "missing.toml"], "suite missing.toml cannot be read: No such file"),
    (["--suite", "typo.toml"], "suite typo.toml: no option 'epoch'; did you mean 'epochs'?"),
    (["--suite", "value.toml"], "suite value.toml: --schedule 'wrong': "),
    (["--suite", "seeds.toml"], "suite seeds.toml: --seeds 0: at least 1"),
    (["--suite", "plugins.toml"], "suite plugins.toml: plugins = 3: expected a list of files"),
    (["--suite", "mixed.toml"], "suite mixed.toml: plugins = [3]: expected a list of files"),
    (["--suite", "gone.toml"], "gone.py cannot be read"),
    (["--suite", "broken.toml"], "suite broken.toml is not TOML"),
    (["--suite", "task.toml"], "suite task.toml: no task 'nope'"),
    (["--suite", "good.toml", "--schedule", "wrong"], "error: --schedule 'wrong': "),
    (["--dim", "x"], "Invalid value for '--dim': 'x' is not a valid integer"),
    (["--dim", "0"], "--dim 0: "),
    (["--lr", "x"], "--lr 'x': Input should be a valid number"),
    (["--ensemble", "0"], "--ensemble 0: "),
    (["--schedule", "wrong"], "'linear', 'cosine' or 'constant'"),
    (["--design", "wrong"], "'factorial' or 'one-factor'"),
    (["--phases", "wrong"], "'train' or 'cost'"),
    (["--phases", "train,,cost"], "--phases 'train,,cost': an empty name between two commas"),
    (["--phases", "train,"], "--phases 'train,': an empty name after the last comma"),
    (["--suite", "phases.toml"], "--phases 'train,,cost': an empty name between two commas"),
    (["--phases", ""], "'train' or 'cost'"),
    (["--on", "nope"], "no executor 'nope'. There is: local, inline"),
    (["--on", "inlin"], "did you mean 'inline'?"),
    (["--on", "local(x=1)"], "executor 'local' has no parameter 'x'"),
    (["--on", ""], "no executor ''"),
    (["--task", "nope"], "no task 'nope'"),
    (["--task", "classify(x=1)"], "task 'classify' has no parameter 'x'"),
    (["--seeds", "0"], "--seeds 0: at least 1"),
    (["--seeds", "x"], "Invalid value for '--seeds'"),
    (["--seed", "-1"], "--seed"),
    (["--device", "gpu"], "'auto', 'cpu', 'cuda' or 'mps'"),
    (["--all-positions=yes"], "--all-positions"),
    (["--all-position"], "no option '--all-position'; did you mean --all-positions"),
    (["--pe", "rope,,sin"], "an empty name between two commas"),
    (["--out", ""], "'--out': it is empty"),
    (["--save", ""], "'--save': it is empty"),
    (["--save", "file/model"], "cannot write to file/model"),
]
# The commands that have an option; all of them have the others.
COMMANDS = {
    **dict.fromkeys(["--design", "--phases", "--seeds", "--pe"], ("bench",)),
    **dict.fromkeys(["--suite", "--seed", "--lr", "--schedule"], ("bench", "train")),
    "--out": ("bench", "scale"),
    "--save": ("train",),
}


def cases() -> Iterator[object]:
    """Every bad input with each of the commands that have the option."""
    for arguments, message in BAD:
        for command in COMMANDS.get(arguments[0], REQUESTS):
            ignored = ("seeds.toml", "phases.toml")  # by zoo train, of a suite
            if command != "train" or arguments[-1] not in ignored:
                name = " ".join([command, *arguments])
                yield pytest.param(command, arguments, message, id=name)


@pytest.mark.parametrize(("command", "arguments", "message"), list(cases()))
def test_bad_input_is_one_line_and_nothing_is_written(
    command: str,
    arguments: list[str],
    message: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, text in SUITES.items():
        (folder / name).write_text(text)
    (folder / "raises.py").write_text("raise RuntimeError('oh no')\n")
    (folder / "nothing.py").write_text("")
    (folder / "file").write_text("")
    bytecode = folder / "__pycache__"  # Python's own, where it may write any
    before = {*folder.iterdir(), bytecode}
    words = [
        w for name, value in SIZES.items() for w in (f"--{name.replace('_', '-')}", str(value))
    ]
    if command == "scale":
        words = [*words[: words.index("--max-length")], "--lengths", "8"]
    else:
        words += ["--data", "order(train=60,test=12)"]
    places = {"bench": ["--out", "new/out"], "scale": ["--out", "new/out"]}
    default = places.get(command, ["--save", "new/deep/model"])
    on = [] if "--on" in arguments else ["--on", "inline"]

    assert main([command, *words, *default, *on, *arguments]) == 2
    printed = capsys.readouterr()
    (line,) = printed.err.splitlines()
    assert (printed.out, line.partition(" error: ")[0]) == ("", f"zoo {command}:")
    assert message in line
    assert {*folder.iterdir(), bytecode} == before


def test_plug_ins_of_a_suite_and_of_the_command_line_are_both_used(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "failing.py").write_text(FAILING)
    (folder / "other.py").write_text(FAILING.replace('"failing"', '"other"'))
    (folder / "two.toml").write_text('attention = "failing,other"\nplugins = "failing.py"\n')
    arguments = ["--suite", "two.toml", "--plugin", "other.py", "--baseline", "none", "--plan"]
    assert main(["bench", *arguments]) == 0
    assert "2 to run, " in capsys.readouterr().out


def test_the_command_line_wins_over_the_suite(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "grid.toml").write_text('attention = ["fused", "naive"]\npe = "sin"\n')
    assert main(["bench", *WORDS, "--suite", "grid.toml", "--pe", "rope", "--plan"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines if line.endswith("run")] == [
        ["fused", "rope"],
        ["naive", "rope"],
    ]
