"""Everything one run is asked for; the command line, suites and Python all produce a Request."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, NonNegativeInt, PositiveFloat, PositiveInt, ValidationError

from zoo.config.settings import Execution, Pretraining, Training, spelt
from zoo.config.sizes import Options, Sizes
from zoo.errors import ZooError, nearest

Phase = Literal["train", "cost"]
Seed = Annotated[NonNegativeInt, Field(lt=2**32)]  # scikit-learn takes no larger ones
MOST_SEEDS = 10_000
Design = Literal["factorial", "one-factor"]


class Request(Options):
    """Components as comma lists of choices, and how to train and measure the models they make.

    task_options: the task's own options, all of them, as its pydantic model dumps them. tuned:
    training settings with the values to choose from; ``training`` holds the first of each. recipe:
    the options that the data bring, where no others are asked for.
    lengths: several lengths of texts to measure costs at; ``sizes`` holds the largest.
    """

    task: str = Field(
        default="classify", description="What is learned; 'zoo list task' names them."
    )
    task_options: dict[str, Any] = Field(default={})

    attention: str = Field(
        default="fused",
        description="Attentions, a comma list or all. With a/b the layers take turns: the first "
        "has a, the second b; so for the next four options.",
    )
    pe: str = Field(default="rope", description="Positional encodings, a comma list or all.")
    norm: str = Field(default="layer", description="Norms, a comma list or all.")
    ffn: str = Field(default="gelu", description="Feed-forward networks, a comma list or all.")
    block: str = Field(default="pre", description="Blocks, a comma list or all.")
    pool: str = Field(default="mean", description="Pools, a comma list or all.")
    baseline: str = Field(
        default="tfidf-logreg",
        description="Baselines, a comma list, all or none. Where texts are cut, one that reads "
        "texts has a second row, NAME(whole=True), which reads whole texts.",
    )
    design: Design = Field(
        default="factorial",
        description="Cross all, or change one at a time. factorial: every combination; "
        "one-factor: the first part of each option, and one change of it at a time; what cannot be "
        "combined with the first encoding has the next that it can.",
    )
    data: str | None = Field(
        default=None,
        description="A name of 'zoo list data', a path, or hub:owner/name; or the task's own.",
    )

    tuned: dict[str, tuple[float, ...]] = Field(default={})
    recipe: dict[str, Any] = Field(default={})
    sizes: Sizes = Sizes()
    lengths: tuple[PositiveInt, ...] = ()
    training: Training = Training()
    execution: Execution = Execution()
    pretraining: Pretraining = Pretraining()

    seeds: Annotated[tuple[Seed, ...], Field(min_length=1)] = (0, 1, 2)
    phases: Annotated[tuple[Phase, ...], Field(min_length=1)] = Field(
        default=("train", "cost"), description="train (scores), cost (speed, memory) or both."
    )
    reference: str = Field(
        default="",
        description="The row that speeds are divided by, by parts that no other has, such as "
        "fused+sin; by default the first that can run.",
    )
    metric: str = Field(
        default="",
        description="The score that ranks rows; by default the task's first. Another is macro_f1.",
    )
    jobs: PositiveInt | None = Field(
        default=None,
        description="Models trained at once; by default as many as fit the cores or the cluster, "
        "one on a GPU or with --threads. Speeds are measured alone.",
    )
    threads: NonNegativeInt = Field(
        default=0,
        le=1024,  # of a million, torch ends the process
        description="Threads of each model; 0: as the cores allow. A training then has its share "
        "of the cores, a measurement on a CPU has one, and on a cluster each has one.",
    )
    blocks: PositiveInt | None = Field(
        default=None,
        description="Most times that each model is timed, from 12 on until speeds are known within "
        "2%; by default 40, until they are known within 5%. At several lengths it is 6.",
    )
    timeout: PositiveFloat | None = Field(
        default=None, description="Most seconds per training or timing."
    )
    plugins: tuple[str, ...] = ()

    @property
    def chooses(self) -> bool:
        """Whether one of several values is chosen for each row; else all of them are results."""
        return bool(self.tuned) and not self.training.evaluate_every

    @property
    def recorded_options(self) -> dict[str, Any]:
        """The task's own options for records and jobs: of a test file its name, and no path."""
        if test := self.task_options.get("test"):
            return {**self.task_options, "test": Path(test).name}
        return self.task_options

    def trainings(self) -> list[Training]:
        """Every combination of the values to choose from, in their order."""
        combinations = itertools.product(*self.tuned.values())
        return [
            self.training.model_copy(update=dict(zip(self.tuned, values, strict=True)))
            for values in combinations
        ]


# Options of comparing several models, which have no use where one is trained.
COMPARING = ("baseline", "design", "seeds", "phases", "reference", "metric", "jobs", "blocks")
PARTS: dict[str, type[BaseModel]] = {
    "sizes": Sizes,
    "training": Training,
    "execution": Execution,
    "pretraining": Pretraining,
}


def flat_fields() -> dict[str, type[BaseModel]]:
    """Every option but a task's own, by its flat name, with the model that holds it."""
    held = (*PARTS, "task_options", "tuned", "recipe", "lengths")
    own = {name: Request for name in Request.model_fields if name not in held}
    return own | {name: model for model in PARTS.values() for name in model.model_fields}


def validated(model: type[BaseModel], values: Mapping[str, Any]) -> Any:
    """The model of these values; ZooError, naming every option that is out of bounds or unknown."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        wrong: dict[str, str] = {}
        for each in error.errors():
            name = next((str(p) for p in reversed(each["loc"]) if isinstance(p, str)), "request")
            if each["type"] == "extra_forbidden":
                problem = f"no option '{name}'{nearest(name, model.model_fields)}"
            else:
                problem = f"{spelt(name, str(each['input'])[:80])}: {each['msg']}"
            wrong.setdefault(name, problem)
        raise ZooError("; ".join(wrong.values())) from None


def first_error(error: ValidationError, whole: str = "it") -> str:
    """The first field that is wrong, and what is wrong with it. whole: the name of all fields."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or whole}: {first['msg']}"


# Tables of a suite that are no options: for the page of published results, and of a claim.
PUBLISHED, CLAIM = "published", "claim"
BUILT_IN = Path(__file__).parent / "suites"


def load_suite(file: str | Path) -> dict[str, Any]:
    """The options of a suite, by the names that ``zoo.bench`` takes.

    file: a path, or the name of a built-in suite. Paths of plug-in files are relative to the suite.
    Raises ZooError where it is neither, cannot be read or is not TOML, or ``plugins`` is no list of
    files.
    """
    path = Path(file)
    if not (path.exists() or path.suffix or len(path.parts) > 1):
        known = sorted(suite.stem for suite in BUILT_IN.glob("*.toml"))
        if str(file) not in known:
            raise ZooError(f"no suite '{file}', and no such file{nearest(str(file), known)}")
        path = BUILT_IN / f"{file}.toml"
    options = read_suite(path)
    for table in (PUBLISHED, CLAIM):
        options.pop(table, None)
    plugins = options.get("plugins", [])
    files = [plugins] if isinstance(plugins, str) else plugins
    if not isinstance(files, list) or not all(isinstance(plugin, str) for plugin in files):
        raise ZooError(f"suite {path}: plugins = {plugins!r}: expected a list of files")
    if files:
        options["plugins"] = [str(path.parent / plugin) for plugin in files]
    return options


def read_suite(path: Path) -> dict[str, Any]:
    """The content of a suite; ZooError where the file cannot be read or is not TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ZooError(f"suite {path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # not UTF-8, too long an integer, too deep
        raise ZooError(f"suite {path} is not TOML: {error}") from error
