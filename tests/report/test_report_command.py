"""``zoo report`` as a user runs it: from records alone."""

import errno
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from example import run
from factory import write_records

from zoo.cli import run as run_command
from zoo.cli.report import report
from zoo.errors import WriteError
from zoo.report.run_report import RunReport
from zoo.report.write import write_file


@pytest.fixture
def directory(tmp_path):
    return write_records(tmp_path / "run", run())


def zoo_report(*arguments):
    return CliRunner().invoke(report, [str(a) for a in arguments], catch_exceptions=False)


def test_the_answer_under_the_table_has_at_most_four_lines(directory):
    """And below them stands where the report is, which has the rest."""
    _, table, said = zoo_report(directory, "--tables").stdout.partition("attention ")
    *lines, last = (table + said).split("\n\n")[-1].splitlines()
    report = RunReport(run())
    assert 0 < len(lines) <= 4
    assert lines == report.answer
    assert last.startswith("Report: ")
    written = (directory / "table.md").read_text()
    assert written.count("\n- ") == len(report.notes)


def test_json_has_the_answer_and_all_rows(directory):
    printed = json.loads(zoo_report(directory, "--json", "--tables").stdout)
    assert printed["directory"] == str(directory)
    assert [row["rank"] for row in printed["rows"]] == [1, 2, 2, 4]
    assert printed["answer"] == RunReport(run()).answer
    assert printed["notes"] == RunReport(run()).notes


def test_bad_usage_is_one_line(refused_command):
    assert "no records.jsonl" in refused_command("report", "--tables", "nowhere")


def test_a_page_plots_and_tables_are_written_and_the_page_is_named(tmp_path):
    directory = write_records(tmp_path, [r for r in run() if r.kind == "train"])
    tables = {"records.jsonl", "table.md", "table.csv", "table.tex"}
    assert zoo_report(directory, "--tables").stdout.endswith(f"{directory / 'table.md'}\n")
    assert {path.name for path in directory.iterdir()} == tables
    assert zoo_report(directory).stdout.endswith(f"Report: {directory / 'report.html'}\n")
    assert {path.name for path in directory.iterdir()} == {*tables, "report.html", "plots"}


def test_a_file_that_cannot_be_written_is_one_line_exit_1_and_no_temporary_file(directory, capsys):
    (directory / "table.csv").mkdir()
    assert run_command(report, [str(directory), "--tables"]) == 1
    error = capsys.readouterr().err
    assert f"error: cannot write {directory / 'table.csv'}: " in error
    assert error.count("\n") == 1
    assert {path.name for path in directory.iterdir()} == {"records.jsonl", "table.csv"}


def test_an_older_table_survives_a_full_disk(tmp_path, monkeypatch):
    def full(self, content):
        with self.open("wb") as file:
            file.write(content[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "table.csv").write_text("the old table")
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(WriteError, match=r"cannot write .*table\.csv: No space left on device"):
        write_file(tmp_path / "table.csv", "a new and longer table")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("table.csv", "the old table")]
