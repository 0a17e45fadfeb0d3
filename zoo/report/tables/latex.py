"""The table for a paper: LaTeX with booktabs."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd

from zoo.report.tables.readable import as_text
from zoo.report.tables.text import plain


def as_latex(table: pd.DataFrame, notes: Sequence[str]) -> str:
    """A ``tabular`` to ``\\input`` into a float of one's own, after the notes as comments.

    It needs ``\\usepackage{booktabs}`` and an engine that reads UTF-8.
    """
    body = as_text(table, "latex_booktabs")
    # After \\ a bracket or a star would be an argument of the line break.
    body = re.sub(r"(?m)^(\s*)(?=[\[*])", r"\1{}", body)
    comments = [f"% {plain(note)}" for note in notes]
    return "\n".join([r"% needs \usepackage{booktabs}", *comments, body, ""])
