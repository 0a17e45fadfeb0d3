"""Every command: fast help, one-line errors, exit status."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from console import ENV, run_zoo

from zoo import __version__
from zoo.cli import main
from zoo.registry.loading import built_ins

COMMANDS = built_ins().commands
Capture = pytest.CaptureFixture[str]


def one_error(capsys: Capture, *arguments: str) -> str:
    """The one line on stderr of a command that is refused."""
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    return line


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_every_command(arguments: list[str], capsys: Capture) -> None:
    assert main(arguments) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    for name, entry in COMMANDS.items():
        assert f"  {name} " in printed.out
        assert entry.summary[:40] in " ".join(printed.out.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_of_its_own(command: str, capsys: Capture) -> None:
    assert main([command, "--help"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.startswith(f"Usage: zoo {command} ")
    assert max(map(len, printed.out.splitlines())) <= 100


def test_help_imports_nothing_that_is_slow() -> None:
    program = (
        "import sys; from zoo.cli import main; main(['--help']); "
        "print(sorted({m.partition('.')[0] for m in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=ENV, check=True
    )
    imported = done.stdout.splitlines()[-1]
    for heavy in ("torch", "numpy", "pandas", "pydantic", "rich", "sklearn", "datasets"):
        assert f"'{heavy}'" not in imported


def test_version() -> None:
    assert run_zoo("--version").stdout == f"zoo {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["bnch"], "zoo: error: no command 'bnch'; did you mean 'bench'? There is: bench, "),
        (["--vresion"], "zoo: error: no option '--vresion'; did you mean --version?"),
        (["list", "--jsn"], "zoo list: error: no option '--jsn'; did you mean --json?"),
        (["list", "--qqq"], "zoo list: error: no option '--qqq'; --help lists them"),
        (["list", "pee"], "zoo list: error: no kind 'pee'; did you mean 'pe'? There is: attention"),
        (["info"], "zoo info: error: Missing argument 'KIND/NAME'."),
        (["info", "pe/roep"], "zoo info: error: no pe 'roep'; did you mean 'rope'? There is: none"),
        (["info", "fussed"], "zoo info: error: 'fussed' is no KIND/NAME, such as pe/rope"),
        (["info", "none"], "zoo info: error: 'none' is several: pe/none, norm/none, ffn/none"),
        (["list", "--plugin", "no.py"], "zoo list: error: plug-in file "),
        (["bench", "--atention", "x"], "zoo bench: error: no option '--atention'; did you mean"),
        (["bench", "--dim", "wide"], "zoo bench: error: Invalid value for '--dim': 'wide'"),
    ],
)
def test_a_wrong_word_is_one_line_with_the_nearest_right_one(
    arguments: list[str], line: str, capsys: Capture
) -> None:
    assert one_error(capsys, *arguments).startswith(line)


def test_debug_prints_the_traceback_above_the_line(capsys: Capture) -> None:
    assert main(["--debug", "info", "pe/roep"]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("Traceback")
    assert printed.splitlines()[-1].startswith("zoo info: error: no pe 'roep'")


def test_ctrl_c_exits_130(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("arguments", [["list"], ["--help"], ["list", "--json"]])
def test_a_closed_pipe_is_quiet(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "zoo", *arguments],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        env=ENV,
        check=False,
    )
    os.close(writer)
    assert (done.stderr, done.returncode) == ("", 141)


def test_lines_fit_a_narrow_terminal_and_are_whole_in_a_pipe() -> None:
    leader, follower = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "zoo", "list", "pe"],
        stdout=follower,
        env={**ENV, "COLUMNS": "50"},
        check=True,
    )
    os.close(follower)
    on_terminal = os.read(leader, 65536).decode().splitlines()
    os.close(leader)
    in_pipe = run_zoo("list", "pe", COLUMNS="50").stdout.splitlines()

    assert max(map(len, on_terminal[1:])) <= 50
    assert any(line.endswith("…") for line in on_terminal)
    assert len(in_pipe) == len(on_terminal)
    assert any("sines and cosines added to the embeddings" in line for line in in_pipe)
    assert not any("\x1b" in line for line in in_pipe)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete(shell: str) -> None:
    assert "_ZOO_COMPLETE" in run_zoo(_ZOO_COMPLETE=f"{shell}_source").stdout
