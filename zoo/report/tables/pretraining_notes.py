"""What the encoders of a run began with, where that is no new weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from zoo.report.tables.text import percent, plain
from zoo.sweep.records import shared_part
from zoo.wording import counted

STAGE = "pretrain"  # what ``init`` is where there was a stage, as in zoo.config.pretraining


def pretraining_notes(config: Mapping[str, Any], table: pd.DataFrame) -> list[str]:
    """A sentence on what the cells began with, and what their times are of; else nothing.

    config: of a record. Baselines are not pretrained.
    """
    about = shared_part(config, "pretraining")
    if not about["init"]:
        return []
    if about["init"] != STAGE:
        return [
            f"The encoder of every cell began with that of {plain(about['init'], 60)}, a masked "
            "language model; its training is not in the times."
        ]
    texts = plain(about["pretrain_data"], 60) or "the texts of the training split"
    what = "words" if about["pretrain_whole_words"] else "word pieces"
    line = (
        f"Every cell was pretrained: {counted(about['pretrain_epochs'], 'epoch')} of masked "
        f"language modelling on {texts} before training, rate {about['pretrain_lr']:g}, "
        f"{percent(about['pretrain_masked'])} of the {what} masked; no text that is scored is "
        "among them."
    )
    if "pretrain_seconds" in table:
        line += " train s is without pretrain s, the seconds of that stage."
    return [line]
