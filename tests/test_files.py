"""What a killed process leaves is removed by the next one, and nothing else of whatever name."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from zoo.files import draft_directory, replacing, scratch_directory

KILLED = """
import os, signal, sys
from pathlib import Path
from zoo.files import draft_directory, scratch_directory
with scratch_directory() as scratch, draft_directory(Path("model")) as draft:
    (scratch / "file").touch()
    (draft / "file").touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def left(tmp_path, monkeypatch) -> list[Path]:
    """What a killed process leaves in the folder that is that of temporary files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", KILLED], env=environment, check=False)
    directories = sorted(tmp_path.iterdir())
    assert len(directories) == 2
    return directories


def test_directories_of_a_killed_process_are_removed_by_the_next(left):
    with scratch_directory() as scratch:
        assert list(Path().iterdir()) == [Path(scratch.name)]
    with draft_directory(Path("model")) as draft:
        (draft / "file").touch()
    assert [str(path) for path in Path().rglob("*")] == ["model", "model/file"]


def test_directories_of_a_living_process_stay(tmp_path):
    program = (
        "import sys; from pathlib import Path; from zoo.files import scratch_directory\n"
        "with scratch_directory(Path(sys.argv[1])):\n"
        "    pass\n"
        "print([path.name for path in Path(sys.argv[1]).iterdir()])\n"
    )
    with scratch_directory(tmp_path) as living:
        words = [sys.executable, "-c", program, str(tmp_path)]
        printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        assert printed == f"{[living.name]}\n"


def test_a_users_directory_of_a_like_name_is_left(left):
    """Also a copy of one of ours, with its lock."""
    shutil.copytree(left[-1], "zoo-tmp-mine")
    for name in ("zoo-2024-results", "zoo-tmp-results"):
        Path(name).mkdir()
    Path("zoo-tmp-file").touch()
    with scratch_directory():
        pass
    names = {"zoo-2024-results", "zoo-tmp-file", "zoo-tmp-mine", "zoo-tmp-results"}
    assert {path.name for path in Path().iterdir()} == names


@pytest.mark.parametrize("identity", ["os.getpid", "threading.get_ident"])
def test_two_writers_of_one_file_do_not_disturb_each_other(identity, tmp_path, monkeypatch):
    """As ``zoo report RUN``, or a thread, while ``zoo bench`` writes the tables of RUN."""
    file = tmp_path / "table.csv"
    with replacing(file) as first:
        first.write_text("first")
        monkeypatch.setattr(identity, lambda: -1)  # as in another process or thread
        with replacing(file) as second:
            second.write_text("second")
    assert file.read_text() == "first"
    assert list(tmp_path.iterdir()) == [file]
