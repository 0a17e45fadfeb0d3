"""The columns of a table, whose names begin with those of the task's scores."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from zoo.registry import AXES
from zoo.report.stats.ratios import PHASES
from zoo.tasks.score import CLASSIFY, SCORES, Score, scores_of

# What a probe says besides, under the names it has in a record.
PROBED = (
    "train_padded_tokens_per_s",
    "infer_padded_tokens_per_s",
    "latency_p95_ms",
    "infer_memory_mib",
    "reserved_memory_mib",
    "flops_per_token",
    "matrix_share",
    "compile_seconds",
)


def first_columns(scores: Sequence[Score]) -> tuple[str, ...]:
    """Those that come first in table.csv, in this order; others may follow.

    scores: of the task, the one that rows are ranked by first.
    """
    main, *others = scores
    return (
        *AXES,
        "status",
        "reason",
        "seeds",
        "params",
        f"{main.name}_mean",
        f"{main.name}_std",
        *(f"{score.name}_mean" for score in others),
        "train_tokens_per_s",
        "infer_tokens_per_s",
        "latency_ms",
        "peak_memory_mib",
        "train_seconds",
    )


def judged_columns(score: Score) -> tuple[str, ...]:
    """What is known of them. Shares, except ratios and scores that are none.

    A tie is True, False, or empty where nobody can say.
    """
    return (
        "rank",
        "tie",
        f"{score.name}_low",
        f"{score.name}_high",
        f"{score.name}_sampling_error",
        "test_documents",
        "reference",
        "rounds",
        *(f"{phase}_{what}" for phase in PHASES for what in ("ratio", "ratio_low", "ratio_high")),
        *(f"{phase}_tie" for phase in PHASES),
        "noise_floor",
        "infer_noise_floor",
        "memory_ratio",
        "pareto_speed",
        "pareto_memory",
    )


# Those of a classifier's table.
COLUMNS = first_columns(scores_of(CLASSIFY))


def scores_in(table: pd.DataFrame) -> tuple[Score, ...]:
    """The scores of the task that a table is of, known by its columns."""
    return next(
        (scores for scores in SCORES.values() if f"{scores[0].name}_mean" in table.columns),
        scores_of(CLASSIFY),
    )
