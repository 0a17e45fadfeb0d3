"""Plain text for a language model: a file, or the training texts of any data set.

The validation part is fixed by a rule and not by a seed. Of a file it is the last tenth, from the
next line on, so that it comes after all the training text. Of a data set it is its validation
split or else every tenth training text (the 10th, the 20th and so on), because many data sets are
sorted by class; the test split of a data set is never read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from zoo.config.reading import Reading
from zoo.data.sources.corpus import plain_words, split_digest
from zoo.data.sources.data_file import data_suffix
from zoo.data.sources.files import LabelledTexts
from zoo.data.sources.load_corpus import LABELLED_TEXTS, load_corpus
from zoo.data.sources.registered import build_registered, find_registered
from zoo.data.sources.text_encoding import read_text as read_file
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
    reader: LabelledTexts = LABELLED_TEXTS,
    *,
    keep_duplicates: bool = False,
) -> tuple[Texts, list[str]]:
    """The texts that a user asked for, and notices to print.

    spec: a file that ends in .txt, compressed or not, or whatever ``load_corpus`` takes. reader: of
    tables. Raises ZooError where they cannot be loaded, or are too few to divide.
    """
    path = Path(spec.strip()).expanduser()
    if data_suffix(path) == SUFFIX and reader.reading.file_format == "auto":
        encoding = reader.reading.encoding
        if reader != LabelledTexts(reading=Reading(encoding=encoding)):
            raise ZooError(
                f"'{spec}' is text, which --text-column and other options of tables are not for"
            )
        notices: list[str] = []
        return read_text(path, encoding, notices), notices
    choice = find_registered(registry, spec)
    if choice is not None and choice.can("text"):
        return build_registered(choice, Texts), []
    corpus, notices = load_corpus(registry, spec, reader)
    validation, train, how = corpus.validation_texts, corpus.train_texts, "the validation split"
    if not validation:
        validation = corpus.train_texts[TENTH - 1 :: TENTH]
        train = [t for i, t in enumerate(corpus.train_texts, start=1) if i % TENTH]
        how = "every tenth training text"
    if not validation:
        raise ZooError(f"{corpus.name}: {len(train)} training texts; at least {TENTH} are needed")
    held_out, in_train = ({plain_words(text) for text in part} for part in (validation, train))
    duplicates = sum(plain_words(text) in in_train for text in validation)
    if duplicates and not keep_duplicates:
        train = [text for text in train if plain_words(text) not in held_out]
        if not train:
            raise ZooError(f"{corpus.name}: every training text is also in the validation part")
    notes = {**corpus.notes, "held out": how}
    return Texts(corpus.name, train, validation, notes, duplicates), notices


def read_text(path: Path, encoding: str = "", notices: list[str] | None = None) -> Texts:
    """One file of plain text, divided; ZooError where it cannot be read or is empty.

    encoding, notices: as of ``encoding_of``.
    """
    text = read_file(path, encoding, [] if notices is None else notices)
    if not text.strip():
        raise ZooError(f"{path} is empty: there is no text to train on")
    cut = len(text) - max(1, len(text) // TENTH)
    line_end = text.find("\n", cut)
    if 0 <= line_end < len(text) - 1:
        cut = line_end + 1
    notes = {"held out": "the last tenth of the file"}
    return Texts(path.name, [text[:cut]], [text[cut:]], notes)
