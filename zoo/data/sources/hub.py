"""Data sets of the Hugging Face Hub: from its cache, or from the Hub if it can be reached."""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from zoo.data.sources.corpus import Corpus
from zoo.data.sources.row_reader import NAMES_COLUMN, LabelledTexts, RawData
from zoo.data.sources.tables import SPLIT_NAMES, SourceTable, numbered
from zoo.errors import ZooError, one_line
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


def read_tables(repository: str, label_column: str, *, name: str = "") -> RawData:
    """The tables of the data set ``owner/name`` or ``owner/name@revision`` of the Hub.

    A revision that is a full commit is read from the cache without asking the Hub; of any other the
    cache is read where the Hub cannot be reached. Raises HubError where the data cannot be loaded.
    """
    match = _REPOSITORY.fullmatch(repository)
    if not match:
        raise ZooError(f"'hub:{repository}' is no Hub data set; write hub:owner/name")
    name = name or f"hub:{repository}"
    tables: dict[str, list[SourceTable]] = {}
    try:
        folder = _downloaded(match["id"], match["revision"] or "main")
        import datasets

        # The files are in the cache already, so the prepared copy is thrown away.
        with scratch_directory() as scratch, _quiet(datasets.utils):
            splits: Any = datasets.load_dataset(str(folder), cache_dir=str(scratch))
            for called, data in splits.items():
                split = SPLIT_NAMES.get(called, called)
                if split in SPLIT_NAMES and split not in tables:
                    rows = named_rows(data, label_column)
                    tables[split] = [numbered(f"{name}, {called}", rows)]
    except Exception as error:  # the client and datasets raise many kinds
        # Of a file that it cannot read, datasets says why only in the cause.
        is_vague = type(error).__name__ == "DatasetGenerationError"
        reason = one_line((is_vague and error.__cause__) or error).partition(". ")[0]
        raise HubError(name, reason[:400]) from error
    source = f"https://huggingface.co/datasets/{match['id']}"
    return RawData(name, tables, {"source": source, "revision": folder.name})


def load_bbc_news() -> Corpus:
    """BBC news as the Hub has it, with its 53 test documents that are also in train.

    Source: Greene and Cunningham, "Practical Solutions to the Problem of Diagonal Dominance in
    Kernel Document Clustering", ICML 2006. The articles are the BBC's, for non-commercial research.
    """
    reader = LabelledTexts()
    corpus, _ = reader.data_set(read_tables(BBC_NEWS, reader.label_column, name="bbc-news"))
    if corpus.notes["split"] != "as given":  # without a test split train is divided
        raise HubError(corpus.name, "its copy in the Hub's cache is not whole; delete it")
    return cast(Corpus, corpus)


def _downloaded(repository: str, revision: str) -> Path:
    """The folder of a commit in the Hub's cache, downloaded if need be."""
    from huggingface_hub import HfApi, constants, utils
    from huggingface_hub.errors import LocalEntryNotFoundError

    # The client would read the variable only when it is imported.
    hub = HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None)
    how: Any = {"repo_type": "dataset", "revision": revision, "allow_patterns": _PATTERNS}
    with _quiet(utils):
        if _COMMIT.fullmatch(revision):
            with contextlib.suppress(LocalEntryNotFoundError):
                return Path(hub.snapshot_download(repository, local_files_only=True, **how))
            # One request first, because those of a download are tried again for half a minute.
            hub.dataset_info(repository, revision=revision, timeout=constants.HF_HUB_ETAG_TIMEOUT)
        return Path(hub.snapshot_download(repository, **how))


def named_rows(data: Any, label_column: str) -> list[dict[str, Any]]:
    """The rows of a ``datasets.Dataset``, with the names that its features give to numbers.

    Names take the place of the numbers in lists; those of labels are in the column ``label_text``.
    """
    rows: list[dict[str, Any]] = data.to_list()
    for column, feature in data.features.items():
        names = dict(enumerate(getattr(feature, "names", None) or []))
        of_items = dict(enumerate(getattr(getattr(feature, "feature", None), "names", None) or []))
        for row in rows:
            if of_items:
                row[column] = [of_items.get(item, item) for item in row[column] or []]
            if names and column == label_column and NAMES_COLUMN not in data.features:
                row[NAMES_COLUMN] = names.get(row[column])
    return rows


@contextlib.contextmanager
def _quiet(library: ModuleType) -> Iterator[None]:
    """Without warnings and progress bars of ``huggingface_hub.utils`` or ``datasets.utils``."""
    logger = logging.getLogger(library.__name__.partition(".")[0])
    level, hidden = logger.level, library.are_progress_bars_disabled()
    logger.setLevel(logging.CRITICAL)
    library.disable_progress_bars()
    try:
        yield
    finally:
        logger.setLevel(level)
        if not hidden:
            library.enable_progress_bars()
