"""A report as plain values, for JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from zoo.report.profile import Profile
from zoo.report.profile_text import profile_answer
from zoo.report.run_report import RunReport


def run_data(run: RunReport, directory: Path) -> dict[str, Any]:
    """Of a run on one data set: its rows, as in ``table.csv``, the answer, and the notes."""
    rows = _lines(run.table)
    return {"directory": str(directory), "rows": rows, "answer": run.answer, "notes": run.notes}


def profile_data(profile: Profile, directory: Path) -> dict[str, Any]:
    """Of a run on several data sets: a line for each row on each of them, and the answer."""
    scores, answer = _lines(profile.table), profile_answer(profile)
    return {"directory": str(directory), "scores": scores, "answer": answer}


def _lines(table: pd.DataFrame) -> Any:
    # Through JSON, so that NaN and NA become null.
    return json.loads(table.to_json(orient="records", double_precision=15))
