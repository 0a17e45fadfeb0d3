"""Data sets of the Hugging Face Hub: from its cache, or from the Hub if it can be reached."""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from zoo.data.sources.corpus import TRAIN, Corpus
from zoo.data.sources.row_reader import NAMES_COLUMN, C, LabelledTexts, RowReader
from zoo.data.sources.tables import NAMES, Problems, Table
from zoo.errors import ZooError, nearest
from zoo.files import scratch_directory

_REPOSITORY = re.compile(r"(?P<id>[\w.-]+(?:/[\w.-]+)?)(?:@(?P<revision>[\w./-]+))?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
# Pinned, so that a table made today can be made again whatever happens to the repository.
BBC_NEWS = "SetFit/bbc-news@160d4af1d650b602d14cddc8df0baf07a0198643"
# What a text data set consists of, packed or not; images and weights are not downloaded.
_PATTERNS = [f"*.{ending}*" for ending in "md yaml json csv tsv parquet arrow txt".split()]


class HubError(ZooError):
    """A Hub data set that cannot be loaded; ``reason`` says why in a few words."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(
            f"{name} cannot be loaded: {reason}; "
            "give a local path, hub:owner/name, or newswire, which needs no network"
        )
        self.reason = " ".join(reason.split())


def load(repository: str, reader: RowReader[C], *, name: str = "") -> tuple[C, list[str]]:
    """The corpus of a Hub data set ``owner/name`` or ``owner/name@revision``, and its notices.

    A revision that is a full commit is read from the cache without asking the Hub; of any other the
    client of the Hub takes what is in its cache where the Hub does not answer in time.
    Raises HubError where the data cannot be loaded, ZooError where they do not fit.
    """
    match = _REPOSITORY.fullmatch(repository)
    if not match:
        raise ZooError(f"'hub:{repository}' is no Hub data set; write hub:owner/name")
    name = name or f"hub:{repository}"
    revision = match["revision"] or "main"
    try:
        folder = _downloaded(match["id"], revision)
        problems = Problems(drop_bad_rows=reader.reading.drop_bad_rows)
        frames = {
            split: reader.usable(table, problems)
            for split, table in _tables(name, folder, reader).items()
        }
    except ZooError:
        raise
    except Exception as error:  # the client and datasets raise many kinds
        raise HubError(name, _first_sentence(error)) from error
    corpus, notices = reader.make(name, frames, problems)
    source = f"https://huggingface.co/datasets/{match['id']}"
    corpus.notes.update(source=source, revision=folder.name)
    return corpus, notices


def load_bbc_news() -> Corpus:
    """BBC news as the Hub has it, with its 53 test documents that are also in train.

    Source: Greene and Cunningham, "Practical Solutions to the Problem of Diagonal Dominance in
    Kernel Document Clustering", ICML 2006. The articles are the BBC's, for non-commercial research.
    """
    corpus, notices = load(BBC_NEWS, LabelledTexts(), name="bbc-news")
    if notices:  # without a test split train would be divided
        raise HubError(corpus.name, "its copy in the Hub's cache is not whole; delete it")
    return corpus


def _downloaded(repository: str, revision: str) -> Path:
    """The folder of a commit in the Hub's cache, downloaded if need be."""
    from huggingface_hub import HfApi, constants, utils
    from huggingface_hub.errors import LocalEntryNotFoundError, RepositoryNotFoundError

    # The client would read the variable only when it is imported.
    hub = HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None)
    limit = constants.HF_HUB_ETAG_TIMEOUT

    def download(*, cached: bool) -> Path:
        return Path(
            hub.snapshot_download(
                repository,
                repo_type="dataset",
                revision=revision,
                allow_patterns=_PATTERNS,
                local_files_only=cached,
            )
        )

    with _quiet(utils):
        if _COMMIT.fullmatch(revision):
            with contextlib.suppress(LocalEntryNotFoundError):
                return download(cached=True)
        try:  # one request, because a download that fails is tried again for half a minute
            hub.dataset_info(repository, revision=revision, timeout=limit)
        except RepositoryNotFoundError:
            raise
        except Exception as error:  # noqa: BLE001 - of the HTTP library that the client uses
            try:
                return download(cached=True)
            except LocalEntryNotFoundError:
                raise error from None
        return download(cached=False)


def _tables(name: str, folder: Path, reader: RowReader[Any]) -> dict[str, Table]:
    """Train, test and validation as ``datasets`` reads the files."""
    import datasets

    tables = {}
    # The files are in the cache already, so the prepared copy is thrown away.
    with scratch_directory() as scratch, _quiet(datasets.utils):
        splits: Any = datasets.load_dataset(str(folder), cache_dir=str(scratch))
        if TRAIN not in splits:
            raise ZooError(f"{name} has no train split{nearest(TRAIN, splits)}")
        for split, names in NAMES.items():
            if called := next((each for each in names if each in splits), None):
                data = splits[called]
                rows = data.to_list()
                name_classes(rows, data.features, reader.labels)
                numbered = {f"row {number}": row for number, row in enumerate(rows, start=1)}
                tables[split] = Table.of(f"{name}, {called}", numbered, {})
    return tables


def name_classes(
    rows: Sequence[dict[str, Any]], features: Mapping[str, Any], label_column: str
) -> None:
    """Have rows of ``datasets`` hold the names that their features give to numbers.

    Those of a column of lists take the place of the numbers; those of labels are ``label_text``.
    """

    def name(names: Any, code: Any, other: Any) -> Any:
        return names[code] if isinstance(code, int) and 0 <= code < len(names) else other

    for column, feature in features.items():
        names = getattr(feature, "names", None)
        of_items = getattr(getattr(feature, "feature", None), "names", None)
        for row in rows if of_items else ():
            row[column] = [name(of_items, code, code) for code in row[column] or []]
        if names and column == label_column and NAMES_COLUMN not in features:
            for row in rows:
                row[NAMES_COLUMN] = name(names, row[column], None)


@contextlib.contextmanager
def _quiet(library: ModuleType) -> Iterator[None]:
    """Without warnings and progress bars of ``huggingface_hub.utils`` or ``datasets.utils``."""
    logger = logging.getLogger(library.__name__.partition(".")[0])
    level, bars_shown = logger.level, not library.are_progress_bars_disabled()
    logger.setLevel(logging.CRITICAL)
    library.disable_progress_bars()
    try:
        yield
    finally:
        logger.setLevel(level)
        if bars_shown:
            library.enable_progress_bars()


def _first_sentence(error: Exception) -> str:
    """An error in one line; the client's run over paragraphs, of which the first says what."""
    # Of a file that it cannot read, datasets says why only in the cause.
    if type(error).__name__ == "DatasetGenerationError" and error.__cause__:
        error = cast("Exception", error.__cause__)
    first = re.split(r"\n\s*\n|\. ", str(error).strip(), maxsplit=1)[0]
    return f"{type(error).__name__}: {' '.join(first.split())}"[:400].rstrip(".")
