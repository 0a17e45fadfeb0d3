"""Several data sets in one run: each in a directory of its own beneath the run's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from zoo.config.request import Request
from zoo.registry.loading import Zoo
from zoo.sweep.keys import digest
from zoo.sweep.plan import make_plan
from zoo.sweep.prepare import Prepared, open_executor, prepare
from zoo.sweep.progress import Progress
from zoo.sweep.run import Finished, Outcome, Work, run_prepared, slug


def run_data_sets(
    requests: Sequence[Request],
    zoo: Zoo,
    progress: Progress,
    *,
    name: str,
    on: str = "local",
    out: Path | None = None,
    fresh: bool = False,
    collect: bool = False,
    finished: Finished = lambda *_: None,
    all_finished: Callable[[Path], None] = lambda _: None,
) -> tuple[Path, list[Outcome]]:
    """Carry out requests that differ in their data, and return the run's directory.

    All data are loaded and all plans made before the first training. name: of the run, used for its
    directory under ``runs``. all_finished: called with the run's directory, however the run ends.
    The rest as for ``run``.
    """
    plans = [make_plan(request, zoo.registry) for request in requests]
    outcomes: list[Outcome] = []
    with open_executor(zoo, on) as executor:
        prepared: list[Prepared] = []
        for request, plan in zip(requests, plans, strict=True):
            inspected = [] if collect else plan.runnable
            prepared.append(prepare(request, plan, zoo, executor, progress, inspected))
        directory = out or Path("runs") / f"{name}-{digest([p.config for p in prepared])[:8]}"
        places = _directories(directory, prepared)
        try:
            for number, work in enumerate(zip(requests, plans, prepared, strict=True)):
                request, plan, own = work
                about = f"{own.config['data']['name']} (--task {request.task})"
                progress.notice(f"data set {number + 1} of {len(requests)}: {about}")
                made = Work(request, zoo, plan, own, executor, progress)
                outcomes.append(run_prepared(made, places[number], fresh, collect, finished))
        finally:
            all_finished(directory)
    return directory, outcomes


def _directories(root: Path, prepared: Sequence[Prepared]) -> list[Path]:
    """One directory for each data set, named after it and, where names are equal, numbered."""
    seen: Counter[str] = Counter()
    directories = []
    for one in prepared:
        name = slug(one.config["data"]["name"])
        seen[name] += 1
        directories.append(root / (name if seen[name] == 1 else f"{name}-{seen[name]}"))
    return directories
