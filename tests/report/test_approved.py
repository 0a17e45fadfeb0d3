"""Whole reports as people read them, held against text that was read and approved.

After a change that is meant, write them anew and read the difference before it is committed:

    ZOO_APPROVE=1 pytest tests/report/test_approved.py; git diff tests/report/approved
"""

import os
import re
from pathlib import Path

import pytest
from situations import SITUATIONS

from zoo.report.compare import Comparison, comparison_text
from zoo.report.profile import Profile
from zoo.report.run_report import RunReport
from zoo.report.tables.scaling_table import as_text
from zoo.report.write import report_text, write_tables
from zoo.sweep.records import Record

APPROVED = Path(__file__).parent / "approved"
LONG = 40  # lines of a file, from which on its middle is left out


def shown(report: RunReport | Profile | Comparison | list[Record], directory: Path) -> str:
    """A terminal, one of 80 columns, and the files of tables."""
    if isinstance(report, list):
        return as_text(report)
    if isinstance(report, Comparison):
        return _shortened(comparison_text(report, "runs/a", "runs/b"))
    write_tables(report, directory)
    parts = {"terminal": report_text(report), "80 columns": report_text(report, 80)}
    parts |= {file.name: file.read_text("utf-8") for file in sorted(directory.glob("*.[cm]*"))}
    return "\n".join(f"==== {name}\n{_shortened(text)}" for name, text in parts.items())


def _shortened(text: str) -> str:
    # The last digits of a sum depend on the processor.
    lines = re.sub(r"\d+\.\d{7,}", lambda number: f"{float(number[0]):.6g}", text).splitlines()
    if len(lines) > LONG:
        lines[LONG // 2 : -LONG // 2] = [f"[{len(lines) - LONG} more lines]"]
    return "\n".join(line.rstrip() for line in lines) + "\n"


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_report_is_the_approved_one(name, tmp_path):
    report, file = SITUATIONS[name](), APPROVED / f"{name}.txt"
    text = shown(report, tmp_path)
    if os.environ.get("ZOO_APPROVE"):
        file.write_text(text, "utf-8")
    assert text == file.read_text("utf-8")


def test_every_approved_report_has_its_situation():
    assert {file.stem for file in APPROVED.iterdir()} == set(SITUATIONS)
