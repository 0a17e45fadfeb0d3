"""Several data sets in one run: each in a directory of its own beneath the run's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from zoo.config.request import Request
from zoo.registry import Choice
from zoo.registry.loading import Zoo
from zoo.sweep.keys import digest
from zoo.sweep.plan import make_plan
from zoo.sweep.prepare import open_executor
from zoo.sweep.progress import Progress
from zoo.sweep.run import Outcome, run_prepared
from zoo.sweep.run_state import prepare_work
from zoo.sweep.slug import slug


def run_data_sets(
    requests: Sequence[Request],
    zoo: Zoo,
    progress: Progress,
    *,
    name: str,
    on: str | Choice = "local",
    out: Path | None = None,
    all_finished: Callable[[Path], None] = lambda _: None,
    **choices: Any,
) -> tuple[Path, list[Outcome]]:
    """Carry out requests that differ in their data, and return the run's directory.

    All data are loaded and all plans made before the first training. name: of the run, used for its
    directory under ``runs``. all_finished: called with the run's directory, however the run ends.
    choices: of ``run_prepared``; the rest as for ``run``.
    """
    for request in requests:
        make_plan(request, zoo.registry)  # a wrong name is said before any data are loaded
    outcomes: list[Outcome] = []
    with open_executor(zoo, on) as executor:
        collect = choices.get("collect", False)
        works = [prepare_work(r, zoo, executor, progress, collect) for r in requests]
        configs = [work.prepared.config for work in works]
        directory = out or Path("runs") / f"{name}-{digest(configs)[:8]}"
        places = _directories(directory, [config["data"]["name"] for config in configs])
        try:
            for number, (work, place) in enumerate(zip(works, places, strict=True), start=1):
                data, task = work.prepared.config["data"]["name"], work.request.task
                progress.notice(f"data set {number} of {len(works)}: {data} (--task {task})")
                outcomes.append(run_prepared(work, place, **choices))
        finally:
            all_finished(directory)
    return directory, outcomes


def _directories(root: Path, names: Sequence[str]) -> list[Path]:
    """One directory for each data set, named after it and, where names are equal, numbered."""
    seen: Counter[str] = Counter()
    directories = []
    for name in map(slug, names):
        seen[name] += 1
        directories.append(root / (name if seen[name] == 1 else f"{name}-{seen[name]}"))
    return directories
