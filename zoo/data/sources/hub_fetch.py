"""The one place that calls the Hub's client; a script, run in a process of its own by ``hub``.

It takes one argument, a JSON object: repository, revision, columns, required (splits it must
have), cached (do not ask the Hub), and directory, into which it writes ``splits/<split>.parquet``
and then ``done.json``. What goes wrong is the last line on stderr, with exit status 1.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

# What a text data set consists of; images and weights stay on the Hub.
PATTERNS = [
    f"*.{ending}{packed}"
    for ending in ("md", "yaml", "json", "jsonl", "csv", "tsv", "parquet", "arrow", "txt")
    for packed in ("", ".gz", ".zst", ".zip")
]


def main(request: dict[str, Any]) -> None:
    """Fetch the repository's files and write the splits out of them."""
    from huggingface_hub import snapshot_download

    folder = Path(
        snapshot_download(
            request["repository"],
            repo_type="dataset",
            revision=request["revision"],
            local_files_only=request["cached"],
            allow_patterns=PATTERNS,
        )
    )
    directory = Path(request["directory"])
    write_splits(folder, request["columns"], request["required"], directory)
    (directory / "done.json").write_text(json.dumps({"commit": folder.name}), encoding="utf-8")


def write_splits(folder: Path, columns: list[str], required: list[str], directory: Path) -> None:
    """Read the files as ``datasets`` does, and keep text, label, and the label's name."""
    import datasets

    # Its prepared copy goes into the directory, which is thrown away: the cache has the files.
    splits = datasets.load_dataset(str(folder), cache_dir=str(directory / "prepared"))
    missing = [split for split in required if split not in splits]
    if missing:
        raise ValueError(f"it has no {' and no '.join(missing)} split")
    (directory / "splits").mkdir(exist_ok=True)  # an attempt before this one may have failed
    for split, rows in splits.items():
        label = rows.features.get(columns[1])
        names = getattr(label, "names", None)
        kept = [c for c in rows.column_names if c in (*columns, "label_text")]
        # Where a column is missing all are kept, so that the reader's error can name them.
        table = (rows.select_columns(kept) if set(columns) <= set(kept) else rows).data.table
        if names and "label_text" not in kept:
            codes = table.column(columns[1]).to_pylist()
            words = [names[c] if isinstance(c, int) and c >= 0 else None for c in codes]
            table = table.append_column("label_text", [words])
        write_parquet(table, directory / "splits" / f"{split}.parquet")


def write_parquet(table: Any, path: Path) -> None:
    """Write a pyarrow table without what ``datasets`` notes about it."""
    import pyarrow.parquet

    pyarrow.parquet.write_table(table.replace_schema_metadata(None), path)


if __name__ == "__main__":
    try:
        main(json.loads(sys.argv[1]))
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent process reports it
        # Of a file it cannot read, datasets says why only in the cause.
        reason = error.__cause__ if type(error).__name__ == "DatasetGenerationError" else error
        # The client's errors run over paragraphs; the first sentence says what, the rest advise.
        first = re.split(r"\n\s*\n|\. ", str(reason).strip(), maxsplit=1)[0]
        print("", " ".join(f"{type(reason).__name__}: {first}".split()), sep="\n", file=sys.stderr)
        sys.exit(1)
