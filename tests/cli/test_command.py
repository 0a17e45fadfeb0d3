"""Every command: fast help, one-line errors, exit status."""

import io
import json
import os
import signal
import subprocess
import sys

import click
import pytest
from small_runs import ENV

from zoo import __version__
from zoo.cli import main, run
from zoo.errors import WriteError, ZooError
from zoo.registry.loading import built_ins

COMMANDS = built_ins().commands


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_every_command(arguments, said):
    printed = said(*arguments)
    assert printed.err == ""
    for name, entry in COMMANDS.items():
        assert f"  {name} " in printed.out
        assert entry.summary[:40] in " ".join(printed.out.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_of_its_own(command, said):
    printed = said(command, "--help")
    assert printed.err == ""
    assert printed.out.startswith(f"Usage: zoo {command} ")
    assert max(map(len, printed.out.splitlines())) <= 100


def test_what_answers_at_once_imports_nothing_that_is_slow():
    """Nor does what only reads options; a plan is made without torch as well.

    Nor does ``import zoo``, and its functions show their options without torch.
    """
    lists = [["--help"], ["list"], ["list", "pe"], ["info", "attention/fused"], ["plugins"]]
    helps = [[command, "--help"] for command in ("bench", "train", "claim", "claims")]
    plans = [["bench", "--task", t, "--pe", "all", "--plan"] for t in ("classify", "lm", "seq2seq")]
    program = (
        "import inspect, json, sys, zoo; from zoo.cli import main\n"
        f"for word in {[*lists, *helps, *plans]!r}:\n"
        "    assert main(word) == 0, word\n"
        "    found = {m.partition('.')[0] for m in sys.modules}\n"
        "    print(json.dumps([word, sorted(found)]), file=sys.stderr)\n"
        "dir(zoo), inspect.signature(zoo.bench)\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=ENV, check=True
    )
    said = [json.loads(line) for line in done.stderr.splitlines()]
    assert len(said) == len([*lists, *helps, *plans])
    for words, modules in said:
        heavy = {"torch"}
        if words not in plans:
            heavy |= {"pandas", "sklearn", "scipy", "datasets", "matplotlib", "tokenizers"}
        if words in lists:
            heavy |= {"numpy", "pydantic", "rich"}
        assert not heavy & {*modules}, words


def test_version(said):
    assert said("--version").out == f"zoo {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["bnch"], "zoo: error: no command 'bnch'; did you mean 'bench'? There is: bench, "),
        (["--vresion"], "zoo: error: no option '--vresion'; did you mean --version?"),
        (["list", "--jsn"], "zoo list: error: no option '--jsn'; did you mean --json?"),
        (["list", "--qqq"], "zoo list: error: no option '--qqq'; --help lists them"),
        (["list", "pee"], "zoo list: error: no kind 'pee'; did you mean 'pe'? There is: attention"),
        (["info"], "zoo info: error: Missing argument 'KIND/NAME'."),
        (["info", "pe/roep"], "zoo info: error: no pe 'roep'; did you mean 'rope'? There is: "),
        (["info", "fussed"], "zoo info: error: 'fussed' is no KIND/NAME, such as pe/rope"),
        (["list", "--plugin", "no.py"], "zoo list: error: plug-in file "),
        (["bench", "--atention", "x"], "zoo bench: error: no option '--atention'; did you mean"),
        (["bench", "--set", "=3"], "zoo bench: error: --set =3: write --set NAME=VALUE"),
        (["bench", "--set", "layers=1, dim=wide"], "zoo bench: error: --set dim=wide: Input "),
        (
            ["bench", "--set", "layer=2"],
            "zoo bench: error: no option 'layer'; did you mean",
        ),
        (
            ["train", "--aloud", "--data", "x", "--learn=2", "--epoch", "3"],
            "zoo train: error: no option '--aloud'; --help lists them; no option '--learn'; "
            "--help lists them; no option '--epoch'; did you mean --epochs?",
        ),
        (["bench", "--set", "dim=0,heads=x,lr=0"], "zoo bench: error: no option '--set lr'; it is"),
        (
            ["bench", "--max-length", "8,16", "--phases", "cost", "--track", "x"],
            "zoo bench: error: several --max-length: one task, and no --against or --track",
        ),
    ],
)
def test_a_wrong_word_is_one_line_with_the_nearest_right_one(arguments, line, refused_command):
    assert refused_command(*arguments).startswith(line)


def test_all_wrong_values_are_said_at_once(refused_command):
    line = refused_command("bench", "--test-size", 0.5, "--set", "dim=0,heads=x", "--jobs", -1)
    assert all(f"{option}: Input should be" in line for option in ("dim=0", "heads=x", "--jobs -1"))


def test_debug_prints_the_traceback_above_the_line(said):
    printed = said("--debug", "info", "pe/roep", status=2).err
    assert printed.startswith("Traceback")
    assert printed.splitlines()[-1].startswith("zoo info: error: no pe 'roep'")


def test_ctrl_c_exits_130(tmp_path):
    endless = tmp_path / "endless.py"
    endless.write_text("import sys, time\nprint('here', file=sys.stderr)\ntime.sleep(60)\n")
    command = [sys.executable, "-m", "zoo", "list", "--plugin", str(endless)]

    def default_handler() -> None:  # also where these tests run in the background of a script
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENV,
        preexec_fn=default_handler,
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "here\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == "zoo list: interrupted\n"
    assert process.returncode == 130


def test_a_closed_pipe_is_quiet():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "zoo", "list"],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        env=ENV,
        check=False,
    )
    os.close(writer)
    assert (done.stderr, done.returncode) == ("", 141)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_fit_a_narrow_terminal_and_are_whole_in_a_pipe(said, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    terminal = Terminal()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        assert main(["list", "pe"]) == 0
    on_terminal = terminal.getvalue().splitlines()
    in_pipe = said("list", "pe").out.splitlines()

    assert max(map(len, on_terminal[1:])) <= 50
    assert any(line.endswith("…") for line in on_terminal)
    assert len(in_pipe) == len(on_terminal)
    assert any("Sines and cosines added to the embeddings" in line for line in in_pipe)
    assert not any("\x1b" in line for line in in_pipe)


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [
        (WriteError("cannot write to x"), 1, "error: cannot write to x"),
        (ZooError("two\n  lines"), 2, "error: two lines"),
        (FileNotFoundError(2, "No such file", "x.csv"), 2, "error: x.csv: No such file"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (KeyboardInterrupt("half of it is there"), 130, "interrupted: half of it"),
        (RuntimeError("a bug"), 70, "internal error: RuntimeError: a bug"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_every_error_has_its_status_and_one_line(raised, status, said, capfd):
    """A bug has its traceback, which whoever reports it needs."""

    @click.command()
    def failing() -> None:
        raise raised

    assert run(failing, []) == status
    *above, line = capfd.readouterr().err.splitlines()
    assert line.startswith(f"zoo: {said}")
    assert bool(above) == (status == 70)


def test_a_terminal_of_another_encoding_gets_question_marks(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["bench", "--help"]) == 0
    stream.seek(0)
    assert "--lr X[,X?]" in stream.read()
