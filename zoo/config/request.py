"""Everything one run is asked for; the command line, a suite and Python all end up here."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveFloat, PositiveInt

from zoo.config.settings import Execution, Training
from zoo.config.sizes import Sizes
from zoo.tasks.score import CLASSIFY

Phase = Literal["trials", "probes"]
Design = Literal["factorial", "one-factor"]


class Request(BaseModel):
    """Axes as comma lists of choices, and how to train, measure and keep them.

    design: ``factorial`` crosses the axes; ``one-factor`` takes the first choice of each and
    changes one of them at a time.
    data: a named set, a path, ``hub:owner/name``, or None for the default. seeds: which ones.
    threads: of one worker, 0 for its share of the cores. timeout: seconds per trial.
    memory_limit: MiB per worker, 0 for none. beam: texts a decoder keeps in sight. read_last: let
    the last layer compute only what the pool reads. reference: the cell that ratios are to.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    task: str = CLASSIFY

    attention: str = "fused"
    pe: str = "rope"
    norm: str = "layer"
    ffn: str = "gelu"
    block: str = "pre"
    pool: str = "mean"
    baseline: str = "tfidf-logreg"
    design: Design = "factorial"

    data: str | None = None
    text_column: str = "text"
    label_column: str = "label"
    keep_duplicates: bool = False

    sizes: Sizes = Sizes()
    training: Training = Training()
    execution: Execution = Execution()
    read_last: bool = True
    beam: PositiveInt = 4

    seeds: Annotated[tuple[NonNegativeInt, ...], Field(min_length=1)] = (0,)
    phases: Annotated[tuple[Phase, ...], Field(min_length=1)] = ("trials", "probes")
    reference: str = ""
    jobs: PositiveInt = 1
    threads: NonNegativeInt = 0
    rounds: PositiveInt = 5
    timeout: PositiveFloat | None = None
    memory_limit: NonNegativeInt = 0
    plugins: tuple[str, ...] = ()
