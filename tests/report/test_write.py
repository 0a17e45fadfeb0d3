"""Which files a report is written to, and which older ones are deleted."""

import pandas as pd
from example import REFERENCE, run
from factory import cell, failed, skipped

from zoo.report.run_report import RunReport
from zoo.report.write import NAMES, write_report, write_tables


def test_plots_without_data_are_not_made_and_older_ones_are_deleted(tmp_path):
    plots = tmp_path / "plots"
    plots.mkdir()
    for name in NAMES:
        (plots / f"{name}.png").touch()
        (plots / f"{name}.svg").touch()
    write_report(RunReport([skipped(cell(), "no reason"), failed(cell(pe="sin"), 0)]), tmp_path)
    assert list(plots.iterdir()) == []


def test_without_the_records_of_the_reference_all_else_is_made(tmp_path):
    """Every row was measured against it, but its own lines were removed."""
    left = RunReport([record for record in run() if record.name != REFERENCE])
    assert left.reference == REFERENCE
    assert left.effects is None
    write_report(left, tmp_path)
    assert (tmp_path / "report.html").exists()
    names = {path.stem for path in (tmp_path / "plots").iterdir()}
    assert "pareto-memory" in names
    assert "effects" not in names


def test_no_spreadsheet_runs_a_name_of_a_part_as_a_formula(tmp_path):
    link = '=HYPERLINK("https://example.org","look")'
    row = "x\r=1+1"  # a carriage return begins a row, and is not quoted
    write_tables(RunReport([*run(), failed(cell(pe=link), 0), failed(cell(pe=row), 0)]), tmp_path)
    assert b"\r" not in (tmp_path / "table.csv").read_bytes()
    table = pd.read_csv(tmp_path / "table.csv")
    assert f"'{link}" in set(table["pe"])
    assert table["accuracy_mean"].dtype == float
    assert not [line for line in (tmp_path / "table.csv").open() if ',"=' in line or ",=" in line]
