"""What a killed process leaves is removed by the next one, and nothing else of whatever name."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from zoo.files import MARKER, draft_directory, remove_left, scratch_directory

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
    found = sorted(tmp_path.iterdir())
    assert len(found) == 2
    return found


def test_directories_of_a_killed_process_are_removed_by_the_next(left):
    with scratch_directory() as scratch:
        assert list(Path().iterdir()) == [Path(scratch.name)]
    with draft_directory(Path("model")) as draft:
        (draft / "file").touch()
    assert [str(path) for path in Path().rglob("*")] == ["model", "model/file"]


@pytest.mark.parametrize("name", ["process", "boot", "namespace", "name"])
def test_a_directory_stays_whose_marker_is_of_a_living_process_or_of_elsewhere(name, left):
    for path in left:
        marker = json.loads((path / MARKER).read_text())
        changes = {name: "another"}
        if name == "process":
            with scratch_directory(path) as living:
                own = json.loads((living / MARKER).read_text())
            changes = {each: own[each] for each in ("process", "started")}
        (path / MARKER).write_text(json.dumps({**marker, **changes}))
    with scratch_directory():
        assert all((path / MARKER).exists() for path in left)


def test_a_number_that_another_process_has_now_is_of_the_one_that_ended(left):
    for path in left:
        marker = json.loads((path / MARKER).read_text())
        (path / MARKER).write_text(json.dumps({**marker, "process": os.getpid()}))
    with scratch_directory():
        assert not any(path.exists() for path in left)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_marker_that_is_none_is_not_waited_for(tmp_path):
    for name in ("zoo-tmp-pipe", "zoo-tmp-deep"):
        (tmp_path / name).mkdir()
    os.mkfifo(tmp_path / "zoo-tmp-pipe" / MARKER)
    (tmp_path / "zoo-tmp-deep" / MARKER).write_text("[" * 100_000)
    remove_left(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_users_directory_of_a_like_name_is_left(left):
    """Also a copy of one of ours, with its marker."""
    copy = shutil.copytree(left[-1], "zoo-tmp-mine")
    for name in ("zoo-2024-results", "zoo-tmp-results", ".notes.draft"):
        Path(name).mkdir()
    Path("zoo-tmp-file").touch()
    with scratch_directory():
        pass
    names = {".notes.draft", "zoo-2024-results", "zoo-tmp-file", "zoo-tmp-mine", "zoo-tmp-results"}
    assert {path.name for path in Path().iterdir()} == names
    assert Path(copy, MARKER).exists()
