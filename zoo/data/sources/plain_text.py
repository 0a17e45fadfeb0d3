"""Plain text for a language model: a file, or the training texts of any data set.

The validation part is fixed by a rule and not by a seed. Of a file it is the last tenth, from the
next line on, so that it comes after all the training text. Of a data set it is every tenth
training text (the 10th, the 20th and so on), because many data sets are sorted by class; the test
split of a data set is never read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from zoo.data.sources.corpus import plain_words, split_digest
from zoo.data.sources.load_corpus import load_corpus
from zoo.data.sources.registered import build_registered, find_registered
from zoo.data.sources.tables import read_utf8
from zoo.errors import ZooError
from zoo.registry import Registry

SUFFIX = ".txt"
TENTH = 10


@dataclass(frozen=True)
class Texts:
    """Training and validation texts. duplicates: validation texts that are also in train."""

    name: str
    train: list[str]
    validation: list[str]
    notes: dict[str, str] = field(default_factory=dict)
    duplicates: int = 0

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 in hex of texts and split; the same on every machine."""
        # "held": published fingerprints were computed with this word.
        return split_digest({"train": self.train, "held": self.validation})


def load_texts(
    registry: Registry,
    spec: str,
    *,
    text_column: str = "text",
    label_column: str = "label",
    keep_duplicates: bool = False,
) -> tuple[Texts, list[str]]:
    """The texts that a user asked for, and notices to print.

    spec: a file that ends in .txt, or whatever ``load_corpus`` takes. Raises ZooError where they
    cannot be loaded, or are too few to divide.
    """
    if spec.strip().lower().endswith(SUFFIX):
        if (text_column, label_column) != ("text", "label"):
            raise ZooError(f"--text-column and --label-column are for tables; '{spec}' is text")
        return read_text(Path(spec.strip()).expanduser()), []
    choice = find_registered(registry, spec)
    if choice is not None and choice.can("text"):
        return build_registered(choice, Texts), []
    corpus, notices = load_corpus(
        registry, spec, text_column=text_column, label_column=label_column
    )
    validation = corpus.train_texts[TENTH - 1 :: TENTH]
    train = [t for i, t in enumerate(corpus.train_texts, start=1) if i % TENTH]
    if not validation:
        raise ZooError(f"{corpus.name}: {len(train)} training texts; at least {TENTH} are needed")
    held_out, in_train = ({plain_words(text) for text in part} for part in (validation, train))
    duplicates = sum(plain_words(text) in in_train for text in validation)
    if duplicates and not keep_duplicates:
        train = [text for text in train if plain_words(text) not in held_out]
        if not train:
            raise ZooError(f"{corpus.name}: every training text is also in the validation part")
    notes = {**corpus.notes, "held out": "every tenth training text"}
    return Texts(corpus.name, train, validation, notes, duplicates), notices


def read_text(path: Path) -> Texts:
    """One file of plain text in UTF-8, divided; ZooError where it cannot be read or is empty."""
    text = read_utf8(path)
    if not text.strip():
        raise ZooError(f"{path} is empty: there is no text to train on")
    cut = len(text) - max(1, len(text) // TENTH)
    line_end = text.find("\n", cut)
    if 0 <= line_end < len(text) - 1:
        cut = line_end + 1
    notes = {"held out": "the last tenth of the file"}
    return Texts(path.name, [text[:cut]], [text[cut:]], notes)
