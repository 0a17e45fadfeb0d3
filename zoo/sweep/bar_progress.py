"""Bars that show a run in a notebook and on a terminal: the progress of ``zoo.bench``.

By tqdm and not by rich: in a notebook without ipywidgets, rich shows nothing and tqdm a bar of
text; with ipywidgets and on a terminal both show bars. ``zoo bench`` needs no notebook, and shows
the running jobs one by one with rich.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

from zoo.config.metric_description import MetricDescription
from zoo.execution.base import Ended, Event, Notice, Started
from zoo.execution.base import Progress as JobProgress
from zoo.sweep.progress import Progress, Silent, summary


class Bars(Progress):
    """One bar for each phase: jobs done, time left, and the last job that came further."""

    def __init__(self) -> None:
        from tqdm import TqdmWarning

        with warnings.catch_warnings():  # it says that ipywidgets would look better
            warnings.simplefilter("ignore", TqdmWarning)
            from tqdm.auto import tqdm
        self.make: Any = tqdm
        self.bar: Any = None
        self.share: dict[str, float] = {}  # job name to the share of it that is done

    def notice(self, text: str) -> None:
        self.make.write(text, file=sys.stderr)

    def phase(self, name: str, total: int) -> None:
        self.close()
        if total:
            layout = "{desc}: {bar} {n:.1f}/{total} [{elapsed}, {remaining} left]{postfix}"
            self.bar = self.make(total=total, desc=name, bar_format=layout)

    def event(self, event: Event, metrics: Sequence[MetricDescription] = ()) -> None:
        if isinstance(event, Notice):
            self.notice(event.text)
        if isinstance(event, Notice) or self.bar is None:
            return
        name = event.job.name
        if isinstance(event, Started):
            self._advance(name, 0.0, "")
        elif isinstance(event, JobProgress):
            step = event.step
            loss = "" if step.loss is None else f" loss {step.loss:.3f}"
            self._advance(name, step.done / step.total, loss)
        elif isinstance(event, Ended):
            self._advance(name, 1.0, f" {summary(event.result, metrics)}")

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
        self.bar, self.share = None, {}

    def _advance(self, name: str, share: float, how: str) -> None:
        self.bar.set_postfix_str(f"{name}{how}", refresh=False)
        self.bar.update(share - self.share.get(name, 0.0))
        self.share[name] = share
        self.bar.refresh()


def for_python(progress: bool | Progress | None) -> Progress:
    """What a function called from Python reports to.

    None: bars in a notebook and on a terminal, nothing elsewhere. True, False: bars, nothing.
    """
    if isinstance(progress, Progress):
        return progress
    if progress is None:
        progress = in_notebook() or (sys.stderr is not None and sys.stderr.isatty())
    return Bars() if progress else Silent()


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    return "ipykernel" in sys.modules and "IPython" in sys.modules
