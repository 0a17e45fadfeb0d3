"""A published claim: a suite with a table ``[claim]`` that predicts what its run will show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import BaseModel, Field, PositiveFloat, PositiveInt, ValidationError

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
    table, where = read_suite(file).get(CLAIM), f"claim {file}"
    if not isinstance(table, dict) or not isinstance(table.get("expects"), list):
        raise ZooError(f"suite {file} is no claim: it needs a table [claim] and [[claim.expects]]")
    expects = [
        _expectation(each, f"{where}: prediction {number}")
        for number, each in enumerate(table["expects"], start=1)
    ]
    return read_table(Claim, {**table, "expects": expects}, where)


def _expectation(table: Any, where: str) -> Expectation:
    kinds = [kind for kind in KINDS if isinstance(table, dict) and kind in table]
    if len(kinds) != 1:
        raise ZooError(f"{where} needs one of {listed(KINDS)}, and has {len(kinds)}")
    (kind,), rest = kinds, dict(table)
    made = read_table(Expectation, {"kind": kind, "row": rest.pop(kind), **rest}, where)
    if unused := sorted(rest.keys() - {*KINDS[kind], "data"}):
        raise ZooError(f"{where}: '{unused[0]}' has no effect with '{kind}'")
    if missing := sorted({"than", "within"} & {*KINDS[kind]} - rest.keys()):
        raise ZooError(f"{where}: '{kind}' needs '{missing[0]}'")
    return made


def read_table(model: type[M], table: Any, where: str) -> M:
    """The model of a table of a suite; ZooError, which begins with ``where``, if it is wrong."""
    try:
        return model.model_validate(table)
    except ValidationError as error:
        # A misspelt key, before the one that is missing for it.
        first = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
    key = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        raise ZooError(f"{where} has no key '{key}'{nearest(key, model.model_fields)}")
    raise ZooError(f"{where} {key}: {first['msg']}")


class Table(NamedTuple):
    """One data set of a claim's suite: its name, all options of its run, and its cells."""

    data: str
    config: Mapping[str, Any]
    cells: Mapping[str, Mapping[str, str]]

    def is_of(self, data: str | Mapping[str, Any]) -> bool:
        """Whether a prediction of these data, a name or options, may be of this one."""
        wanted = {"name": data} if isinstance(data, str) else dict(data)
        parts = (self.config.get(part, {}) for part in (*PARTS, "task_options"))
        options = {option: value for part in parts for option, value in part.items()}
        named = wanted.pop("name", "") in ("", self.data, self.data.partition("(")[0])
        return named and wanted.items() <= options.items()


def find_row(row: str, data: str | Mapping[str, Any], tables: Sequence[Table]) -> tuple[int, str]:
    """The place of the table that a row of a prediction is in, and the row's whole name.

    Raises ZooError where there is no such row, or several may be meant.
    """
    fitting = [place for place, table in enumerate(tables) if table.is_of(data)]
    if not fitting:
        names = listed(dict.fromkeys(table.data for table in tables))
        raise ZooError(f"claim: no data set fits data = {data!r}; there is: {names}")
    cells = {name: cell for place in fitting for name, cell in tables[place].cells.items()}
    name = find_cell(cells, row, "claim:")
    place, *others = (place for place in fitting if name in tables[place].cells)
    if others:
        raise ZooError(f"claim: {row} is in several data sets: say which with data")
    return place, name
