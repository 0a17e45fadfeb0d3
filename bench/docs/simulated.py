"""The measured rates of the verdicts, from the published simulations."""

from __future__ import annotations

import re
from collections.abc import Callable

from bench.docs.place import RESULTS
from bench.simulate.page import LINES, SIMULATIONS, page


def simulated() -> dict[str, Callable[[], str]]:
    """Title of a section of the simulations' page, in small letters, to what makes its text."""
    _, *sections = re.split(r"^## (.+)$", page(RESULTS / SIMULATIONS / LINES), flags=re.MULTILINE)
    titles, texts = sections[::2], sections[1::2]
    return {
        title.lower(): lambda text=text: text.strip()  # type: ignore[misc]
        for title, text in zip(titles, texts, strict=True)
    }
