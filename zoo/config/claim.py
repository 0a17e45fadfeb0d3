"""A published claim: a suite with a table ``[claim]`` that predicts what its run will show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import BaseModel, Field, PositiveFloat, PositiveInt, ValidationError, model_validator

from zoo.config.request import CLAIM, PARTS, read_suite
from zoo.config.row_names import find_cell
from zoo.config.sizes import Options
from zoo.errors import ZooError, listed, nearest

BUILT_IN_CLAIMS = Path(__file__).parent / "claims"
Text = Annotated[str, Field(min_length=1)]
M = TypeVar("M", bound=BaseModel)
# The kinds of predictions, each with what it takes besides its row and its data.
KINDS = {
    "solves": ("group", "lr"),
    "fails": ("group", "lr"),
    "faster": ("than", "by"),
    "better": ("than", "by", "group"),
    "equal": ("than", "within", "group"),
    "cheaper": ("than", "by"),
}


class Expectation(Options):
    """One prediction of a row; in a suite as ``faster = "fused", than = "linear", by = 2.0``.

    kind: solves or fails (in more, or fewer, than half of all seeds), faster (examples until
    solved), better or equal (scores), cheaper (speed in training). than: the row to compare with.
    by: at least so many times or, of scores, so many units of the metric (points). within: the
    margin of an equality, in these units. data: where rows are in several data sets of the suite,
    the name of one, or options that it alone has: ``{layers = 1}``. group: of test texts. lr: at
    this rate alone.
    """

    kind: str
    row: Text
    than: Text = ""
    by: PositiveFloat | None = None
    within: PositiveFloat = 0.0
    data: str | dict[str, Any] = ""
    group: str = ""
    lr: PositiveFloat | None = None

    @model_validator(mode="before")
    @classmethod
    def _with_kind(cls, table: Any) -> Any:
        kinds = [kind for kind in KINDS if isinstance(table, dict) and kind in table]
        if len(kinds) != 1:
            raise ValueError(f"needs one of {listed(KINDS)}, and has {len(kinds)}")
        kind, taken = kinds[0], {*kinds, *KINDS[kinds[0]], "data"}
        if {"group", "lr"} <= table.keys():  # groups are scored at the best rate
            raise ValueError("'lr' has no effect with 'group'")
        if unused := sorted(table.keys() - taken):
            raise ValueError(
                f"'{unused[0]}' has no effect with '{kind}'{nearest(unused[0], taken)}"
            )
        if missing := sorted({"than", "within"} & taken - table.keys()):
            raise ValueError(f"'{kind}' needs '{missing[0]}'")
        return {"kind": kind, "row": table[kind], **{k: table[k] for k in table if k != kind}}


class Claim(Options):
    """What a paper says, and what follows from it for a run.

    section: of the paper. pitfalls: what else makes the prediction fail. conditions: of the paper,
    where a run shows something else. seeds: that a verdict needs. minutes: of one core, as
    expected.
    """

    paper: Text
    section: str = ""
    statement: Text
    pitfalls: str = ""
    conditions: str = ""
    seeds: PositiveInt = 8
    minutes: PositiveFloat = 60.0
    expects: Annotated[tuple[Expectation, ...], Field(min_length=1)]

    @property
    def source(self) -> str:
        """The paper and the section."""
        return ", ".join(filter(None, (self.paper, self.section)))


def load_claim(file: Path) -> Claim:
    """The claim of a suite. Raises ZooError, in one line, where it has none or it is wrong."""
    table = read_suite(file).get(CLAIM)
    if not isinstance(table, dict) or not isinstance(table.get("expects"), list):
        raise ZooError(f"suite {file} is no claim: it needs a table [claim] and [[claim.expects]]")
    return read_table(Claim, table, f"claim {file}")


def read_table(model: type[M], table: Any, where: str) -> M:
    """The model of a table of a suite; ZooError, which begins with ``where``, if it is wrong."""
    try:
        return model.model_validate(table)
    except ValidationError as error:
        # A misspelt key, before the one that is missing for it.
        first = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
    key = ".".join(f"{p + 1}" if isinstance(p, int) else p for p in first["loc"])
    if first["type"] == "extra_forbidden":
        raise ZooError(f"{where} has no key '{key}'{nearest(key, model.model_fields)}")
    raise ZooError(f"{where} {key}: {first['msg'].removeprefix('Value error, ')}")


class Table(NamedTuple):
    """One data set of a claim's suite: its name, all options of its run, and its cells."""

    data: str
    config: Mapping[str, Any]
    cells: Mapping[str, Mapping[str, str]]

    def fits(self, data: str | Mapping[str, Any]) -> bool:
        """Whether a prediction of these data, a name or options, may be of this one."""
        if isinstance(data, str):
            return data in ("", self.data, self.data.partition("(")[0])
        parts = (self.config.get(part, {}) for part in (*PARTS, "task_options"))
        options = {option: value for part in parts for option, value in part.items()}
        return data.items() <= options.items()


def find_row(
    row: str, data: str | Mapping[str, Any], tables: Sequence[Table], where: str = "claim:"
) -> tuple[int, str]:
    """The place of the table that a row of a prediction is in, and the row's whole name.

    Raises ZooError, which begins with ``where``, if there is no such row, or several may be meant.
    """
    fitting = {place: table.cells for place, table in enumerate(tables) if table.fits(data)}
    if not fitting:
        names = listed(dict.fromkeys(table.data for table in tables))
        raise ZooError(f"{where} no data set fits data = {data!r}; there is: {names}")
    name = find_cell({k: of[k] for of in fitting.values() for k in of}, row, where)
    place, *others = (place for place, cells in fitting.items() if name in cells)
    if others:
        raise ZooError(f"{where} {row} is in several data sets: say which with data")
    return place, name
