"""Reports of large grids stay within seconds and memory, and are measured once."""

import json
import subprocess
import sys

import pytest

from bench.report_scale import LINES, main


@pytest.mark.slow
def test_a_thousand_cells_are_reported_within_a_gibibyte(tmp_path, capsys):
    # In a process of its own: a child's peak is at least that of the process that starts it.
    words = [sys.executable, "-m", "bench.report_scale", "--cells", "1000", "--out", str(tmp_path)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    lines = (tmp_path / LINES).read_text()
    found = [json.loads(line) for line in lines.splitlines()]
    reports = [line for line in found if line["command"] == "report"]
    assert {(line["cells"], line["costs"]) for line in reports} == {(1000, False), (1000, True)}
    for line in reports:
        assert line["peak_mib"] < 1000
        assert line["cpu_seconds"] < 30
        assert line["page_mb"] < 5
    # Started again, nothing is measured again.
    assert main(["--cells", "1000", "--out", str(tmp_path)]) == 0
    assert (tmp_path / LINES).read_text() == lines
    assert "| report    | 1,000" in capsys.readouterr().out
