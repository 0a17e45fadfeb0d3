"""Data sets of the Hugging Face Hub: from its cache, or from the Hub if it can be reached.

One request finds out first, within a few seconds, whether the Hub can be reached, because a
download by the client of the Hub retries for half a minute.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from zoo.data.sources.corpus import TRAIN, Corpus
from zoo.data.sources.labelled_texts import LabelledTexts
from zoo.data.sources.labels import Example
from zoo.data.sources.row_reader import C, RowReader
from zoo.data.sources.splits import NAMES
from zoo.data.sources.tables import name_classes, numbered
from zoo.errors import ZooError, nearest, one_line
from zoo.files import scratch_directory

# With the import of the Hub's client (half a second) this stays under five seconds.
ANSWER_LIMIT_S = 2.5
_OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")
_TRUE = {"1", "ON", "YES", "TRUE"}
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


def load(
    repository: str, reader: RowReader[C], *, name: str = "", required: Sequence[str] = ()
) -> tuple[C, list[str]]:
    """The corpus of a Hub data set ``owner/name`` or ``owner/name@revision``, and its notices.

    A revision that is a full commit is read from the cache without asking the Hub. Any other is
    asked for, and read from the cache, with a notice, where the Hub cannot be reached.
    required: splits that a copy in the cache must have, or its download was interrupted.
    Raises HubError where the data cannot be loaded, ZooError where they do not fit.
    """
    match = _REPOSITORY.fullmatch(repository)
    if not match:
        raise ZooError(f"'hub:{repository}' is no Hub data set; write hub:owner/name")
    name = name or f"hub:{repository}"
    reader.refuse_formats(f"'{name}' is read as the Hub gives it")
    revision = match["revision"] or "main"

    def fetch(*, cached: bool) -> tuple[str, dict[str, list[Example]], list[str]] | str:
        """Commit, splits and notices, or why there are none."""
        from huggingface_hub import snapshot_download, utils

        try:
            with _quiet(utils):
                folder: str = snapshot_download(
                    match["id"],
                    repo_type="dataset",
                    revision=revision,
                    endpoint=_endpoint(),
                    local_files_only=cached,
                    allow_patterns=_PATTERNS,
                )
            return Path(folder).name, *_read_splits(name, folder, required, reader)
        except ZooError:
            raise
        except Exception as error:  # noqa: BLE001 - the client and datasets raise many kinds
            return _first_sentence(error)

    notices: list[str] = []
    pinned = _COMMIT.fullmatch(revision) is not None
    found = fetch(cached=True) if pinned else ""
    if isinstance(found, str):
        reason = unreachable(match["id"])
        if not reason or not pinned:
            found = fetch(cached=bool(reason))
        if isinstance(found, str):
            in_cache = ", and the Hub's cache has no copy"
            raise HubError(name, f"{reason}{in_cache}" if reason else found)
        if reason:
            notices.append(f"{name}: {reason}; using the copy in the Hub's cache")
    commit, splits, told = found
    corpus, more = reader.make(name, splits, told)
    corpus.notes.update(source=f"https://huggingface.co/datasets/{match['id']}", revision=commit)
    return corpus, notices + more


def load_bbc_news() -> Corpus:
    """BBC news as the Hub has it, with its 53 test documents that are also in train.

    Source: Greene and Cunningham, "Practical Solutions to the Problem of Diagonal Dominance in
    Kernel Document Clustering", ICML 2006. The articles are the BBC's, for non-commercial research.
    """
    return load(BBC_NEWS, LabelledTexts(), name="bbc-news", required=("train", "test"))[0]


def unreachable(repository: str) -> str:
    """Why the Hub cannot be reached, after `ANSWER_LIMIT_S` at most; empty where it can."""
    from huggingface_hub import get_session, utils

    setting = next((name for name in _OFFLINE if os.environ.get(name, "").upper() in _TRUE), None)
    if setting:
        return f"{setting} is set"
    endpoint = _endpoint()
    # Not urlsplit, which refuses some of what people write; and never a password.
    host = endpoint.partition("://")[2].partition("/")[0].rpartition("@")[2] or endpoint
    url = f"{endpoint}/api/datasets/{repository}"
    answers = [f"no answer within {ANSWER_LIMIT_S:g} s"]
    with contextlib.suppress(Exception):  # what is wrong with it is said below
        get_session()  # before the clock runs: on a busy machine certificates take long to read
    with _quiet(utils):
        # In a thread, because a timeout of the client bounds neither the look-up of a name nor an
        # answer that comes byte by byte.
        request = threading.Thread(target=lambda: answers.append(_ask(url)), daemon=True)
        request.start()
        request.join(ANSWER_LIMIT_S)
    return f"the Hub at {host} cannot be reached: {answers[-1]}" if answers[-1] else ""


def _ask(url: str) -> str:
    """What is wrong with the answer to one request; empty if the Hub answers."""
    from huggingface_hub import get_session

    try:
        # Not HfApi.dataset_info, which first asks the Hub for what it needs for its telemetry.
        status = get_session().get(url, timeout=ANSWER_LIMIT_S).status_code
    except Exception as error:  # noqa: BLE001 - of the HTTP library that the client uses
        return re.sub(r"^\w+: \[Errno -?\d+\] ", "", one_line(error)).rstrip(".")
    # Any status below 500 is an answer; whether the data set exists, the download finds out.
    return f"it answers {status}" if status >= 500 or status == 407 else ""


def _read_splits(
    name: str, folder: str, required: Sequence[str], reader: RowReader[C]
) -> tuple[dict[str, list[Example]], list[str]]:
    """Train, test and validation as ``datasets`` reads the files, and notices."""
    import datasets

    splits, notices = dict[str, list[Example]](), list[str]()
    # The files are in the cache already, so the prepared copy is thrown away.
    with scratch_directory() as scratch, _quiet(datasets.utils):
        found: Any = datasets.load_dataset(folder, cache_dir=str(scratch))
        if missing := [split for split in required if split not in found]:
            raise ValueError(f"it has no {' and no '.join(missing)} split")
        if TRAIN not in found:
            raise ZooError(f"{name} has no train split{nearest(TRAIN, found)}")
        for split, names in NAMES.items():
            if theirs := next((one for one in names if one in found), None):
                data: Any = found[theirs]
                wanted = {*reader.columns, *reader.more_columns} & {*data.column_names}
                # Where a column is missing all are given, so that the error can list them.
                if {*reader.columns} <= wanted:
                    data = data.select_columns([c for c in data.column_names if c in wanted])
                rows = data.to_list()
                name_classes(rows, data.features, getattr(reader, "label_column", ""))
                splits[split] = reader.split(f"{name}, {theirs}", numbered(rows, "row"), notices)
    return splits, notices


def _endpoint() -> str:
    # The client would read the variable only when it is imported.
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


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
