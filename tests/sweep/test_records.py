"""Records survive a kill, a full disk and two writers."""

import contextlib
import errno
import lzma
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refused

from zoo.errors import WriteError, ZooError
from zoo.sweep.records import (
    FILE,
    Record,
    RecordFile,
    directories_of,
    other_settings,
    packed_file,
    read_run,
)

PUBLISHED = Path(__file__).parents[2] / "results"


def record(seed: int = 0, **rest: object) -> Record:
    fields = {
        "kind": "train",
        "status": "ok",
        "cell": {"attention": "fused", "pe": "rope"},
        "seed": seed,
        "key": f"key{seed}",
        "config": {"task": "classify", "data": {"name": "some"}},
        "metrics": {"accuracy": 0.5},
    }
    return Record.model_validate({**fields, **rest})


@settings(max_examples=10, deadline=None, derandomize=True, database=None)
@given(st.lists(st.text(), max_size=5), st.floats(allow_nan=False, allow_infinity=False))
def test_records_are_read_back_as_they_were_written(tmp_path_factory, reasons, value):
    file = RecordFile(tmp_path_factory.mktemp("records"))
    written = [record(i, reason=r, metrics={"x": value}) for i, r in enumerate(reasons)]
    with file.lock():
        for one in written:
            file.append(one)
    assert file.read() == written


def test_half_a_character_in_a_reason_ends_no_run(tmp_path):
    """As of a file whose name is not UTF-8."""
    file = RecordFile(tmp_path)
    with file.lock():
        file.append(record(0, reason="no file caf\udce9.txt"))
    assert file.read()[0].reason == "no file caf?.txt"


def test_an_unfinished_last_line_is_removed(tmp_path):
    file = RecordFile(tmp_path)
    with file.lock():
        file.append(record(0))
        file.append(record(1))
    content = file.path.read_bytes()
    for missing in (1, 20, 100):
        file.path.write_bytes(content[:-missing])
        assert [r.seed for r in RecordFile(tmp_path).read()] == [0]
        repairing = RecordFile(tmp_path)
        with repairing.lock() as notice:
            repairing.append(record(2))
        assert "removed an unfinished last line" in notice
        assert [r.seed for r in repairing.read()] == [0, 2]


def test_compressed_records_are_read_and_unpacked_by_who_adds_to_them(tmp_path):
    file, home = RecordFile(tmp_path / "run"), tmp_path / "published"
    with file.lock():
        file.append(record(0))
    packed = packed_file(home / FILE)
    home.mkdir()
    packed.write_bytes(lzma.compress(file.path.read_bytes()))
    assert directories_of(tmp_path) == [home, file.directory]
    published = RecordFile(home)
    assert published.read() == [record(0)]
    with published.lock():
        published.append(record(1))
    assert published.read() == [record(0), record(1)]
    assert not packed.exists()
    packed.write_bytes(b"no archive")
    file.path.unlink()
    published.path.unlink()
    refused(f"{FILE}.xz is damaged: ", published.read)


def test_records_are_utf_8(tmp_path):
    """PowerShell's ``>`` writes UTF-16, of which the last line would be lost as unfinished."""
    file, text = RecordFile(tmp_path), record().model_dump_json() + "\n"
    file.path.write_text(text + text.strip(), encoding="utf-16")
    refused("jsonl:1: not a valid record: record: Invalid JSON", file.read)


def test_a_folder_with_tables_and_no_records_is_somebody_elses(tmp_path):
    (tmp_path / "table.csv").write_text("mine")
    refused(r"has a table.csv and no records.jsonl", RecordFile(tmp_path).lock().__enter__)
    assert [file.name for file in tmp_path.iterdir()] == ["table.csv"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nonsense", "not a valid record"),
        (record().model_dump_json() + "\r" + record().model_dump_json(), "not a valid record"),
        ("[]", "not a valid record"),
        ('{"schema_version": 99}', "schema_version: Input should be 2"),
        ("[" * 100_000, "not a valid record: record: Invalid JSON: recursion limit"),
        (record().model_dump_json().replace("fused", "\\ud800"), "record: Invalid JSON"),
        (record().model_dump_json().replace('"ok"', '"fine"'), "status"),
        # The page makes attributes of axes.
        (record().model_dump_json().replace("attention", "x onmouseover=alert(1)"), "cell.x onm"),
    ],
)
def test_a_line_that_is_not_a_record_is_named(tmp_path, line, says):
    file = RecordFile(tmp_path)
    good = record().model_dump_json()
    file.path.write_text(f"{good}\n{line}\n{good}\n")
    caught = refused(r"records\.jsonl:2: ", file.read)
    assert says in str(caught)


def test_a_record_of_other_data_is_named(tmp_path):
    data = ({"name": "some", "fingerprint": each * 64} for each in "001")
    lines = [record(config={"task": "classify", "data": each}).model_dump_json() for each in data]
    (tmp_path / FILE).write_text("\n".join([*lines, ""]))
    refused(r"records\.jsonl:3: of other data than line 1", read_run, tmp_path)


def test_numbers_that_json_cannot_hold_are_not_written(tmp_path):
    file = RecordFile(tmp_path)
    with file.lock(), pytest.raises(ValueError, match="not JSON compliant"):
        file.append(record(metrics={"loss": float("nan")}))
    assert file.read() == []


def test_two_processes_do_not_write_one_directory_and_a_killed_one_frees_it(tmp_path):
    hold = (
        "import sys, time, pathlib; from zoo.sweep.records import RecordFile\n"
        "with RecordFile(pathlib.Path(sys.argv[1])).lock(): print(flush=True); time.sleep(600)"
    )
    words = [sys.executable, "-c", hold, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"\n"
        with (
            pytest.raises(ZooError, match="another zoo is writing to"),
            RecordFile(tmp_path).lock(),
        ):
            pass
        other.kill()
    with RecordFile(tmp_path).lock():  # free again
        pass


def test_a_full_disk_is_reported_and_damages_nothing(small_disk):
    file = RecordFile(small_disk)
    with file.lock():
        written = 0
        with contextlib.suppress(WriteError):
            while written < 100:
                file.append(record(written, reason="x" * 5000))
                written += 1
        assert 0 < written < 100
        with pytest.raises(WriteError, match=os.strerror(errno.ENOSPC)):
            file.append(record(written, reason="x" * 5000))
    assert file.path.read_bytes().endswith(b"\n")
    assert [r.seed for r in file.read()] == list(range(written))


def test_records_of_other_data_differ_and_not_those_of_the_same_described_otherwise():
    data = {"name": "words", "fingerprint": "aa"}
    there = record(0).model_copy(update={"config": {"data": {**data, "cut": 2}}})
    assert other_settings([there], {"data": {**data, "cut": 3}}, ["data"]) == ""
    other = {"data": {**data, "fingerprint": "bb"}}
    assert other_settings([there], other, ["data"]) == "data='words (aa)', not 'words (bb)'"
