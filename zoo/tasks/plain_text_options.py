"""Options of tasks on plain texts, whatever labels these have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from zoo.config.reading import Reading, part_of
from zoo.tasks.base import TaskOptions

if TYPE_CHECKING:
    from zoo.data.sources.labelled_texts import LabelledTexts


class PlainTextOptions(TaskOptions, Reading):
    """Options of every task on plain texts."""

    data_fields = ("text_column", "label_column", "keep_duplicates", *Reading.model_fields)

    text_column: str = Field(
        default="text",
        description="Column of the texts; in files and Hub data. Of several, as in title,body, the "
        "texts are joined.",
    )
    label_column: str = Field(
        default="label", description="Column of the labels; in files and Hub data."
    )
    keep_duplicates: bool = Field(
        default=False, description="Train also on texts that are held out."
    )

    def reader(self) -> LabelledTexts:
        """What reads the rows of tables."""
        from zoo.data.sources.labelled_texts import LabelledTexts

        return LabelledTexts(self.text_column, self.label_column, reading=part_of(Reading, self))
