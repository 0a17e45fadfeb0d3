"""The harness from Python: ``zoo.bench(...)``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from zoo.config.request import Request
from zoo.config.settings import Execution, Training
from zoo.config.sizes import Sizes
from zoo.errors import ZooError, nearest
from zoo.registry import loading
from zoo.sweep.progress import Progress, Silent
from zoo.sweep.run import run
from zoo.tasks.catalog import find_task
from zoo.tasks.score import CLASSIFY

if TYPE_CHECKING:
    import pandas as pd

PARTS: dict[str, type[BaseModel]] = {"sizes": Sizes, "training": Training, "execution": Execution}


def make_request(options: dict[str, Any]) -> Request:
    """A request from flat options: ``dim``, ``epochs``, ``device`` and so on beside the axes.

    Lists become comma lists, ``seeds=3`` the seeds 0, 1, 2. What is not given is as the task has
    it. Raises ZooError for an option that does not exist or that the task would ignore, or a
    value out of bounds.
    """
    task = find_task(str(options.get("task", CLASSIFY)))
    task.refuse(options)
    options = {**task.defaults, **{k: v for k, v in options.items() if v is not None}}
    nested: dict[str, Any] = {part: {} for part in PARTS}
    for name, value in options.items():
        home = next((p for p, model in PARTS.items() if name in model.model_fields), None)
        if home is not None:
            nested[home][name] = value
        elif name in Request.model_fields and name not in PARTS:
            nested[name] = _plain(name, value)
        else:
            raise ZooError(f"no option '{name}'{nearest(name, option_names())}")
    try:
        return Request.model_validate(nested)
    except ValidationError as error:
        first = error.errors()[0]
        name = next((str(p) for p in reversed(first["loc"]) if isinstance(p, str)), "request")
        option = f"--{name.replace('_', '-')}"
        raise ZooError(f"{option} {first['input']!r}: {first['msg']}") from None


def option_names() -> list[str]:
    """Every flat option, in the order of the models that hold them."""
    own = [name for name in Request.model_fields if name not in PARTS]
    return own + [name for model in PARTS.values() for name in model.model_fields]


def _plain(name: str, value: Any) -> Any:
    """A list as the comma list it stands for; a number of seeds as the seeds."""
    if name == "seeds" and isinstance(value, int) and not isinstance(value, bool):
        if value < 1:
            raise ZooError(f"--seeds {value}: at least 1")
        return tuple(range(value))
    if name in ("phases", "plugins"):
        return (value,) if isinstance(value, str) else tuple(value)
    if name != "seeds" and isinstance(value, list | tuple):
        return ",".join(str(item) for item in value)
    return str(value) if isinstance(value, Path) else value


def bench(
    attention: str | Sequence[str] = "fused",
    pe: str | Sequence[str] = "rope",
    *,
    task: str = CLASSIFY,
    data: str | Path | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Train and measure every combination; the columns are those of ``table.csv``.

    attention, pe and the other axes (norm, ffn, block, pool): a name, a comma list or a list.
    task: ``classify``, ``lm`` or ``seq2seq``.
    options: everything ``zoo bench`` takes, with underscores: ``dim=128, epochs=3, seeds=5``.
    Raises ZooError for bad usage or data; cells that fail are rows with their status and reason.
    """
    from zoo.report.tables.table import make_table

    axes = {"attention": attention, "pe": pe}
    request = make_request({"task": task, "data": data, **axes, **options})
    outcome = run(
        request,
        loading.load(request.plugins),
        progress or Silent(),
        out=Path(out) if out is not None else None,
        fresh=fresh,
        finished=write_all,
    )
    return make_table(outcome.records)


def write_all(plan: Any, records: Sequence[Any], directory: Path) -> None:
    """Write the tables of what has been recorded; the records themselves are there already."""
    from zoo.report.tables.table import write_tables

    if records:
        write_tables(records, directory)
