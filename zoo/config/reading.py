"""How files of data are read, and how data without a test split are divided. No torch here."""

from __future__ import annotations

import codecs
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, Field, NonNegativeInt
from pydantic_core import PydanticCustomError

from zoo.config.sizes import Options

# Words for delimiters that are hard to type or to see.
DELIMITERS = {"tab": "\t", "space": " "}
TABLES_ONLY = ("delimiter", "header", "quotes", "escape")  # options of tables of text alone
M = TypeVar("M", bound=BaseModel)


TextColumn = Annotated[
    str,
    Field(
        description="Column of the texts; in files and Hub data. Of several, as in title,body, the "
        "texts are joined."
    ),
]
LabelColumn = Annotated[str, Field(description="Column of the labels; in files and Hub data.")]


def part_of(model: type[M], options: BaseModel) -> M:
    """The fields of ``model`` among the options of a task, which have others besides."""
    return model.model_validate(options.model_dump(include=set(model.model_fields)))


def changed_flags(options: BaseModel, besides: type[BaseModel] = BaseModel) -> dict[str, str]:
    """Field to its flag on the command line, of the options that are not as by default.

    besides: the model whose options do not count.
    """
    flags = {}
    for name, field in type(options).model_fields.items():
        value = getattr(options, name)
        if value != field.default and name not in besides.model_fields:
            flags[name] = f"--{'no-' if value is False else ''}{name.replace('_', '-')}"
    return flags


def _delimiter(value: str) -> str:
    if value and value not in DELIMITERS and (len(value) > 1 or value in '"\r\n'):
        raise PydanticCustomError("delimiter", "expected one character, tab or space")
    return value


def _encoding(value: str) -> str:
    try:
        if value and not codecs.lookup(value)._is_text_encoding:
            raise LookupError
    except (LookupError, ValueError):
        raise PydanticCustomError("encoding", "no such encoding, as Python names them") from None
    return value


class TextReading(Options):
    """How any file of texts is read; the same for training, scoring and predicting."""

    encoding: Annotated[str, AfterValidator(_encoding)] = Field(
        default="",
        description="Encoding of text files, such as latin-1; by default UTF-8, or UTF-16 where a "
        "byte order mark says so.",
    )
    drop_bad_rows: bool = Field(
        default=False,
        description="Leave out rows that cannot be used, and name them; otherwise they are errors.",
    )


class Reading(TextReading):
    """How a file is read that may be a table of text."""

    file_format: Literal["auto", "csv", "tsv", "json", "jsonl", "parquet"] = Field(
        default="auto", description="Format of the files; auto: by their endings."
    )
    delimiter: Annotated[str, AfterValidator(_delimiter)] = Field(
        default="",
        description="What divides columns, a character, tab or space; by default a comma in CSV "
        "and a tab in TSV.",
    )
    header: bool = Field(
        default=True,
        description="Whether the first line names the columns; without it they are numbered.",
    )
    quotes: bool = Field(
        default=True,
        description="Whether double quotes enclose fields of a table; otherwise they are plain "
        "characters.",
    )
    escape: bool = Field(
        default=False,
        description="A backslash escapes a quote in a field of a table, as Spark and MySQL write "
        "it; otherwise a quote is written twice.",
    )


class Division(Options):
    """Where data without a test split get one."""

    test: str = Field(
        default="",
        description="Test split, a file or directory; for data without one. By default a part is "
        "held out.",
    )
    test_size: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None,
        description="Share to hold out as a test split; for data without one. By default 0.25.",
    )
    split_seed: NonNegativeInt = Field(
        default=0, description="Seed for splitting data without a test split."
    )
