"""``zoo report`` as a user runs it: from records alone."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from example import run
from factory import CONFIG, MACHINE, cell, skipped

from zoo.cli.failures import run as run_command
from zoo.cli.report import report
from zoo.sweep.records import RecordFile


@pytest.fixture
def directory(tmp_path):
    return written(tmp_path / "run", run())


def written(path, records):
    file = RecordFile(path)
    with file.held():
        for record in records:
            file.append(record)
    return path


def zoo_report(*arguments):
    return CliRunner().invoke(report, [str(a) for a in arguments], catch_exceptions=False)


def test_the_table_is_printed_and_written_again(directory):
    result = zoo_report(directory)
    assert result.exit_code == 0
    for part in ("1=", "±", "tie (", "reference", "Noise floor", "words"):
        assert part in result.stdout, part
    assert (directory / "table.md").exists()
    assert (directory / "table.csv").read_text().startswith("attention,pe,norm,ffn,block,pool")


def test_the_same_records_give_the_same_bytes(directory):
    first = zoo_report(directory).stdout, (directory / "table.md").read_bytes()
    assert (zoo_report(directory).stdout, (directory / "table.md").read_bytes()) == first


def test_effects_are_a_line_each(directory):
    lines = zoo_report(directory, "--effects").stdout.splitlines()
    assert lines[0].startswith("`rope` against `sin`: ")
    assert lines[1].startswith("`rope` against `none`: +14")
    assert lines[1].count("× the speed") == 1


def test_json_holds_the_whole_of_it(directory):
    (told,) = json.loads(zoo_report(directory, "--effects", "--json").stdout)
    assert told["directory"] == str(directory)
    assert [row["rank"] for row in told["rows"]] == [1, 1, 3, None]
    assert told["rows"][0]["tie"] is True
    assert [effect["against"] for effect in told["effects"]] == ["sin", "none"]
    assert told["effects"][0]["accuracy"]["tie"] is True
    assert told["effects"][1]["train_ratio"]["tie"] is False


def test_several_directories_are_told_one_after_another(directory, tmp_path):
    other = written(tmp_path / "other", run(seeds=1))
    out = zoo_report(directory, other).stdout
    assert out.index(str(directory)) < out.index(str(other)) < out.index("too few seeds")
    assert len(json.loads(zoo_report(directory, other, "--json").stdout)) == 2


def test_a_part_of_the_grid_may_be_asked_for(directory):
    out = zoo_report(directory, "--effects", "--only", "pe=rope,none").stdout
    assert "`rope` against `none`" in out
    assert "`sin`" not in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "no records.jsonl with records there"),
        (["{}", "--only", "pe=rope"], "use both"),
        (["{}", "--effects", "--only", "pe"], "not AXIS=NAME"),
        (["{}", "--effects", "--only", "pe=rope"], "some axis has two choices"),
        (["{}", "--effects", "--only", "pe=rope,sim"], "did you mean 'sin'"),
        (["{}", "--reference", "nobody"], "no such cell here"),
        (["{}", "--out", ""], "it is empty; name a directory"),
    ],
)
def test_bad_usage_is_one_line(directory, capsys, arguments, said):
    assert run_command(report, [a.format(directory) for a in arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_an_incomplete_grid_is_refused_in_one_line(tmp_path, capsys):
    broken = written(tmp_path / "broken", [*run(), skipped(cell(attention="naive"), "no reason")])
    assert run_command(report, [str(broken), "--effects"]) == 2
    error = capsys.readouterr().err
    assert "naive+rope (skipped: no reason)" in error
    assert "--only 'attention=fused'" in error


def test_a_torn_last_line_is_passed_over(directory):
    with (directory / "records.jsonl").open("ab") as file:
        file.write(b'{"schema_version": 1, "kind": "tri')
    assert zoo_report(directory).exit_code == 0


def test_a_page_plots_and_tables_are_written_and_the_page_is_named(directory):
    out = zoo_report(directory).stdout
    assert out.endswith(f"Page: {directory / 'report.html'}\n")
    names = {path.name for path in directory.iterdir()}
    assert {"report.html", "plots", "table.md", "table.csv", "table.tex"} <= names


def test_tables_alone_may_be_asked_for(directory):
    out = zoo_report(directory, "--tables").stdout
    assert "Page:" not in out
    names = {path.name for path in directory.iterdir()} - {".lock"}
    assert names == {"records.jsonl", "table.md", "table.csv", "table.tex"}


def test_runs_taken_together_are_one_table(tmp_path):
    early = written(tmp_path / "early", [r for r in run() if r.seed in (0, 1, None)])
    late = written(tmp_path / "late", [r for r in run() if r.seed not in (0, 1)])
    whole = written(tmp_path / "whole", run())
    together = tmp_path / "new" / "together"
    assert zoo_report(early, late, "--out", together, "--tables").exit_code == 0
    zoo_report(whole, "--tables")
    assert (together / "table.csv").read_text() == (whole / "table.csv").read_text()
    assert not (early / "table.csv").exists()


def test_runs_with_other_settings_or_machines_are_not_taken_together(directory, tmp_path, capsys):
    config = {**CONFIG, "training": {"epochs": 12}}
    longer = written(
        tmp_path / "longer", [r.model_copy(update={"config": config}) for r in run(seeds=1)]
    )
    there = [r.model_copy(update={"environment": {**MACHINE, "threads": 8}}) for r in run(seeds=1)]
    elsewhere = written(tmp_path / "elsewhere", there)
    for other, said in (
        (longer, "training.epochs: 2, 12"),
        (elsewhere, "machine.threads: 2, 8"),
    ):
        out = tmp_path / "out"
        assert run_command(report, [str(directory), str(other), "--out", str(out)]) == 2
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1
        assert not out.exists()
