"""An executor that trains, and makes up what costs are."""

from collections.abc import Generator, Sequence
from pathlib import Path

from factory import cost_record

from zoo.execution.base import CostJob, Ended, Event, Job, Limits, Result
from zoo.execution.local import InlineExecutor
from zoo.registry.cell import model_name

SPEEDS = (1.0,) * 12


class MadeUpCosts(InlineExecutor):
    """Gives the blocks and threads of each cost job as its result."""

    def run(self, jobs: Sequence[Job], *, limits: Limits, directory: Path) -> Generator[Event]:
        for job in jobs:
            if isinstance(job, CostJob):
                samples = cost_record(
                    "any", SPEEDS, model_name(job.members[0].model), SPEEDS
                ).samples
                metrics = {"asked": [job.blocks, limits.threads], "train_tokens_per_s": 1.0}
                asked = Result(metrics=metrics, samples=samples)
                yield Ended(job, Result(members=(asked,) * len(job.members)))
            else:
                yield from super().run([job], limits=limits, directory=directory)
