"""The records survive what happens to them, and say so."""

from __future__ import annotations

import contextlib
import errno
import json
import multiprocessing
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.config.settings import Training
from zoo.config.sizes import Sizes
from zoo.errors import ZooError
from zoo.sweep.records import Record, RecordFile, digest


def record(seed: int = 0, **rest: object) -> Record:
    fields = {
        "kind": "trial",
        "status": "ok",
        "cell": {"attention": "fused", "pe": "rope"},
        "seed": seed,
        "key": f"key{seed}",
        "config": {"data": {"name": "some"}},
        "metrics": {"accuracy": 0.5},
    }
    return Record.model_validate({**fields, **rest})


@settings(max_examples=30, deadline=None, derandomize=True, database=None)
@given(st.lists(st.text(), max_size=5), st.floats(allow_nan=False, allow_infinity=False))
def test_what_is_written_is_read_back(tmp_path_factory, reasons: list[str], value: float):
    file = RecordFile(tmp_path_factory.mktemp("records"))
    written = [record(i, reason=r, metrics={"x": value}) for i, r in enumerate(reasons)]
    with file.held():
        for one in written:
            file.append(one)
    assert file.read() == written


def test_a_record_from_before_a_setting_is_of_what_was_done_without_it(tmp_path: Path):
    older = Training(lr=0.002).model_dump()
    del older["token_deletion"], older["embedding_std"]
    sizes = Sizes(dim=32).model_dump()
    del sizes["members"]
    file = RecordFile(tmp_path)
    with file.held():
        file.append(record(config={"data": {}, "training": older, "sizes": sizes}))
        file.append(record(kind="scale", config={"training": {"dropout": 0.1}}))
    trial, scaled = (one.config for one in file.read())
    assert trial["training"] == Training(lr=0.002).model_dump()
    assert trial["sizes"] == Sizes(dim=32).model_dump()
    assert scaled == {"training": {"dropout": 0.1}}


def test_a_torn_last_line_is_cut_off_and_reported(tmp_path: Path):
    file = RecordFile(tmp_path)
    with file.held():
        file.append(record(0))
        file.append(record(1))
    content = file.path.read_bytes()
    for torn in (1, 20, 100):
        file.path.write_bytes(content[:-torn])
        assert [r.seed for r in RecordFile(tmp_path).read()] == [0]
        repairing = RecordFile(tmp_path)
        with repairing.held():
            assert "the last line was torn" in repairing.repaired
            repairing.append(record(2))
        assert [r.seed for r in repairing.read()] == [0, 2]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("nonsense", "no valid record"),
        ("[]", "no valid record"),
        ('{"schema_version": 99}', "newer zoo (schema 99"),
        (record().model_dump_json().replace('"ok"', '"fine"'), "status"),
        (record().model_dump_json()[:-1] + ', "extra": 1}', "extra"),
    ],
)
def test_a_line_that_is_no_record_is_named(tmp_path: Path, line: str, told: str):
    file = RecordFile(tmp_path)
    good = record().model_dump_json()
    file.path.write_text(f"{good}\n{line}\n{good}\n")
    with pytest.raises(ZooError, match=r"records\.jsonl:2: ") as caught:
        file.read()
    assert told in str(caught.value)


def test_numbers_that_json_cannot_hold_are_not_written(tmp_path: Path):
    file = RecordFile(tmp_path)
    with file.held(), pytest.raises(ValueError, match="not JSON compliant"):
        file.append(record(metrics={"loss": float("nan")}))
    assert file.read() == []


def _hold(directory: str, ready: object, release: object) -> None:
    with RecordFile(Path(directory)).held():
        ready.set()  # type: ignore[attr-defined]
        release.wait(60)  # type: ignore[attr-defined]


def test_two_processes_do_not_write_one_directory(tmp_path: Path):
    context = multiprocessing.get_context("spawn")
    ready, release = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(str(tmp_path), ready, release))
    other.start()
    try:
        assert ready.wait(60)
        with (
            pytest.raises(ZooError, match="another zoo is writing to"),
            RecordFile(tmp_path).held(),
        ):
            pass
    finally:
        release.set()
        other.join()
    with RecordFile(tmp_path).held():  # free again
        pass


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path):
    context = multiprocessing.get_context("spawn")
    ready, release = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(str(tmp_path), ready, release))
    other.start()
    assert ready.wait(60)
    other.kill()
    other.join()
    with RecordFile(tmp_path).held():
        pass


@pytest.fixture
def small_disk(tmp_path: Path):
    """A file system of 64 KiB."""
    mount = tmp_path / "disk"
    mount.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(mount)],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"cannot mount a tmpfs here: {done.stderr.decode().strip()}")
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


def test_a_full_disk_is_told_and_corrupts_nothing(small_disk: Path):
    file = RecordFile(small_disk)
    with file.held():
        written = 0
        with contextlib.suppress(ZooError):
            while written < 100:
                file.append(record(written, reason="x" * 5000))
                written += 1
        assert 0 < written < 100
        with pytest.raises(ZooError, match=os.strerror(errno.ENOSPC)):
            file.append(record(written, reason="x" * 5000))
    assert file.path.read_bytes().endswith(b"\n")
    assert [r.seed for r in file.read()] == list(range(written))


def test_a_directory_that_cannot_be_written_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    with (
        pytest.raises(ZooError, match="cannot write to"),
        RecordFile(tmp_path / "file" / "out").held(),
    ):
        pass


def test_a_digest_hangs_on_content_and_not_on_order():
    assert digest({"a": 1, "b": [1, 2]}) == digest({"b": [1, 2], "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})
    assert digest(json.loads('{"a": 1}')) == digest({"a": 1})
