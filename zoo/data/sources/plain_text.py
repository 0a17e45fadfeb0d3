"""Plain text for a language model: a file, or the training texts of any data set.

What is held out for validation is fixed by a rule and not by a seed. Of a file it is the last
tenth, from the next line on, so that what is held out comes after all that is learned from. Of a
data set it is every tenth training text (the 10th, the 20th and so on), for many come sorted by
class; its test split is never read.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from zoo.data.sources.load_corpus import COLUMNS, load_corpus
from zoo.errors import ZooError
from zoo.registry import Registry

SUFFIX = ".txt"
TENTH = 10


@dataclass(frozen=True)
class Texts:
    """Texts to learn from and texts held out. duplicates: how many held out stand in train too."""

    name: str
    train: list[str]
    held: list[str]
    notes: dict[str, str] = field(default_factory=dict)
    duplicates: int = 0

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 in hex of texts and split; the same on every machine."""
        digest = hashlib.sha256()
        for name, texts in (("train", self.train), ("held", self.held)):
            digest.update(f"{name} {len(texts)}:".encode())
            for text in texts:
                encoded = text.encode()
                digest.update(b"%d:" % len(encoded) + encoded)
        return digest.hexdigest()


def load_texts(
    registry: Registry,
    spec: str,
    *,
    text_column: str = COLUMNS[0],
    label_column: str = COLUMNS[1],
    keep_duplicates: bool = False,
) -> tuple[Texts, list[str]]:
    """The texts that a user asked for, and notices for them.

    spec: a file that ends in .txt, or whatever ``load_corpus`` takes. Raises ZooError where they
    cannot be had, or there are too few to hold any out.
    """
    if spec.strip().lower().endswith(SUFFIX):
        if (text_column, label_column) != COLUMNS:
            raise ZooError(f"--text-column and --label-column are for tables; '{spec}' is text")
        return read_text(Path(spec.strip()).expanduser()), []
    corpus, notices = load_corpus(
        registry, spec, text_column=text_column, label_column=label_column
    )
    held = corpus.train_texts[TENTH - 1 :: TENTH]
    train = [t for i, t in enumerate(corpus.train_texts, start=1) if i % TENTH]
    if not held:
        raise ZooError(f"{corpus.name}: {len(train)} training texts; it takes {TENTH} or more")
    there, known = {_words(text) for text in held}, {_words(text) for text in train}
    duplicates = sum(_words(text) in known for text in held)
    if duplicates and not keep_duplicates:
        train = [text for text in train if _words(text) not in there]
        if not train:
            raise ZooError(f"{corpus.name}: every training text is also held out")
    notes = {**corpus.notes, "held out": "every tenth training text"}
    return Texts(corpus.name, train, held, notes, duplicates), notices


def read_text(path: Path) -> Texts:
    """One file of plain text in UTF-8, divided; ZooError where it cannot be read or divided."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ZooError(f"{path} cannot be read: {error.strerror}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ZooError(
            f"{path} is not UTF-8: byte 0x{data[error.start]:02x} in line {line}"
        ) from error
    if not text.strip():
        raise ZooError(f"{path} is empty: there is nothing in it to learn from")
    cut = len(text) - max(1, len(text) // TENTH)
    line_end = text.find("\n", cut)
    if 0 <= line_end < len(text) - 1:
        cut = line_end + 1
    notes = {"held out": "the last tenth of the file"}
    return Texts(path.name, [text[:cut]], [text[cut:]], notes)


def _words(text: str) -> str:
    return " ".join(text.casefold().split())
