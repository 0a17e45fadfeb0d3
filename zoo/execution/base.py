"""What the parent sends to a worker. Plain data; no torch here."""

from __future__ import annotations

from dataclasses import dataclass

from zoo.config.settings import Execution, Training
from zoo.config.sizes import Sizes


@dataclass(frozen=True)
class Setting:
    """What every piece of work of one run shares.

    data: directory of the encoded data. plugin_files: single-file plug-ins to load. beam: how
    many texts a decoder keeps in sight. keep_duplicates: train on texts that are also held out.
    threads: of one worker. read_last: let the last layer
    compute only the rows that are read.
    memory_limit: MiB of data a worker may hold, 0 for no limit.
    """

    data: str
    sizes: Sizes
    training: Training
    execution: Execution
    plugin_files: tuple[str, ...] = ()
    plugin_selection: str | None = None
    threads: int = 1
    read_last: bool = True
    memory_limit: int = 0
    task: str = "classify"
    beam: int = 1
    keep_duplicates: bool = False


@dataclass(frozen=True)
class Subject:
    """What is trained or probed: a cell (axis to choice), or a baseline by name."""

    cell: tuple[tuple[str, str], ...] = ()
    baseline: str = ""

    @property
    def name(self) -> str:
        """The row's name."""
        return self.baseline or "+".join(choice for _, choice in self.cell)


@dataclass(frozen=True)
class Trial:
    """Train one subject once with one seed.

    checkpoint: the file to keep its last epoch in; weights: the file to leave the trained
    weights in. Empty for none.
    """

    setting: Setting
    subject: Subject
    seed: int
    checkpoint: str = ""
    weights: str = ""


@dataclass(frozen=True)
class Probe:
    """Measure one subject. seed: of its weights and of the batches it is measured on."""

    setting: Setting
    subject: Subject
    seed: int = 0
