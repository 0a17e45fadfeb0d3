"""Where the test and the validation split come from, and classes that are left out of both."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import read
from refused import refused

from zoo.data.sources.load_data import load_data
from zoo.data.sources.row_reader import TaggedTexts, stratified
from zoo.registry import Registry
from zoo.tasks.base import deduplicated

quick = settings(max_examples=40, deadline=None, derandomize=True, database=None)


def write(path: Path, counts: dict[str, int], what: str = "text") -> Path:
    rows = [f"{what} {label} {i},{label}" for label, count in counts.items() for i in range(count)]
    path.write_text("\n".join(["text,label", *rows]) + "\n")
    return path


@quick
@given(
    st.lists(st.integers(2, 60), min_size=2, max_size=5),
    st.floats(0.01, 0.99),
    st.integers(0, 2**31),
)
def test_the_share_of_every_class_is_held_out(counts, share, seed):
    labels = [label for label, count in enumerate(counts) for _ in range(count)]
    test = stratified(labels, seed, share=share)
    assert test == sorted(set(test)) == stratified(labels, seed, share=share)
    in_test = Counter(labels[row] for row in test)
    for label, count in enumerate(counts):
        assert 1 <= in_test[label] < count
        # A class is in both parts, however small the share.
        limit = max(0.5, 1 - share * count, 1 - (1 - share) * count)
        assert abs(in_test[label] - share * count) <= limit + 1e-9


def test_size_and_seed_of_the_division(tmp_path):
    path = write(tmp_path / "x.csv", {"a": 20, "b": 40})
    half, notices = read(path, test_size=0.5, split_seed=3)
    assert (len(half.train.texts), len(half.test.texts)) == (30, 30)
    assert notices == ["mine has no test split; stratified, seed 3, 30 of 60 for test"]
    assert read(path, test_size=0.5, split_seed=3)[0] == half
    assert read(path, test_size=0.5)[0].test.texts != half.test.texts
    assert read(path, test_size=0.25)[0] == read(path)[0]
    refused(r"--test-size 1.5: Input should be less than 1", read, path, test_size=1.5)


def test_a_test_file_is_the_test_split(tmp_path):
    train = write(tmp_path / "mine.csv", {"a": 6, "b": 6})
    test = write(tmp_path / "held out.csv", {"a": 2, "b": 1}, "test")
    corpus, notices = read(train, test=str(test))
    assert [(len(texts)) for texts, _, _ in corpus.splits.values()] == [12, 3]
    assert corpus.test.texts[0] == "test a 0"
    assert (notices, corpus.notes) == ([], {"split": "test split from held out.csv"})
    refused(r"no file or directory '.*nowhere.csv'", read, train, test="nowhere.csv")
    folder = tmp_path / "both"
    folder.mkdir()
    write(folder / "test.csv", {"a": 2, "b": 2}, "test")
    assert len(read(train, test=str(folder))[0].test.texts) == 4
    write(folder / "train.csv", {"a": 9, "b": 9}, "train")
    assert len(read(train, test=str(folder))[0].test.texts) == 4  # its train split is not scored
    (folder / "test.csv").rename(folder / "dev.csv")
    refused("no test split; there is: train, validation", read, train, test=str(folder))
    says = "--test and --test-size: a test file, or a part held out"
    refused(says, read, train, test=str(test), test_size=0.5)


@pytest.fixture
def three_splits(tmp_path) -> Path:
    """Two of the validation texts are also in train, and one is in test."""
    folder = tmp_path / "three"
    folder.mkdir()
    write(folder / "train.csv", {"a": 6, "b": 6}, "train")
    write(folder / "test.csv", {"a": 2, "b": 2}, "test")
    lines = ["text,label", "v one,a", "v two,b", "Train a 0,a", "train  b 1,b", "test a 0,a"]
    (folder / "dev.csv").write_text("\n".join(lines) + "\n")
    return folder


def test_a_validation_file_is_the_validation_split(three_splits):
    corpus, notices = read(three_splits)
    splits = {split: texts for split, (texts, *_) in corpus.splits.items()}
    assert [(split, len(texts)) for split, texts in splits.items()] == [
        ("train", 12),
        ("test", 4),
        ("validation", 5),
    ]
    assert notices == []
    apart = corpus.without_duplicates()
    assert apart.splits["validation"].texts == ["v one", "v two", "Train a 0", "train  b 1"]
    assert apart.splits["validation"].targets == [0, 1, 0, 1]
    train = [text for text in corpus.train.texts if text not in ("train a 0", "train b 1")]
    assert (apart.train.texts, apart.test.texts) == (train, corpus.test.texts)
    assert apart.notes["duplicates of validation"] == "1 dropped from validation"
    clean, told = deduplicated(corpus, (lines := []), keep=False)
    assert (clean, told) == (apart, 0)
    assert lines == [
        "2 validation texts also in the training split: dropped from training",
        "1 validation text also in the test split: dropped from validation",
    ]
    (three_splits / "dev.csv").unlink()
    without = read(three_splits)[0]
    assert [split for split, (_, *_) in without.splits.items()] == ["train", "test"]
    assert without.fingerprint != corpus.fingerprint


def test_without_a_test_split_validation_is_test_unless_another_is_asked_for(
    three_splits, tmp_path
):
    (three_splits / "test.csv").unlink()
    corpus, notices = read(three_splits)
    assert [len(texts) for texts, _, _ in corpus.splits.values()] == [12, 5]
    assert notices == ["mine has no test split; its validation split is used"]
    corpus, _ = read(three_splits, test_size=0.5)
    assert [len(texts) for texts, _, _ in corpus.splits.values()] == [6, 6, 5]
    test = write(tmp_path / "other.csv", {"a": 1})
    corpus, _ = read(three_splits, test=str(test))
    assert [len(texts) for texts, _, _ in corpus.splits.values()] == [12, 1, 5]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"test": "x.csv"}, "--test: for data without a test split, and mine has one"),
        ({"test_size": 0.5, "split_seed": 1}, "--test-size and --split-seed: for data without"),
    ],
)
def test_data_with_a_test_split_are_not_divided(three_splits, options, says):
    refused(says, read, three_splits, **options)


def test_a_class_of_one_text_is_refused(tmp_path):
    path = write(tmp_path / "x.csv", {"news": 200, "odd": 4, "sport": 150, "single": 1})
    says = r"1 class has only one document, 'single' \(line 356\)"
    refused(says, read, path)


def test_what_one_split_alone_has_is_said_and_a_part_of_the_data(tmp_path):
    write(tmp_path / "train.csv", {"neg": 4, "pos": 4, "unsup": 1})
    write(tmp_path / "test.csv", {"neg": 2, "angry": 1}, "test")
    corpus, notices = read(tmp_path)
    assert corpus.label_names == ["angry", "neg", "pos", "unsup"]
    assert notices == [
        "train has 'pos' (4) and 'unsup' (1), which test lacks",
        "test has 'angry' (1), which train lacks: errors where they are scored",
    ]


def test_files_without_a_class_are_left_out_with_a_line(tmp_path):
    """As the IMDb reviews come: texts without labels, and lists of addresses beside the folders."""
    for place in ("train/neg/1", "train/pos/1", "train/unsup/1", "train/unsup/2", "train/urls",
                  "train/unsupervised/1",
                  "test/neg/1", "test/pos/1", "README"):  # fmt: skip
        file = tmp_path / f"{place}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"text of {place}")
    corpus, notices = read(tmp_path)
    assert corpus.label_names == ["neg", "pos"]
    assert notices == ["train: 4 files left out, for there are no labels"]


def test_tagged_texts_have_a_validation_split_too(tmp_path):
    (tmp_path / "train.conll").write_text("Anna P\nruns O\n\n" * 4 + "Dan P\nruns O\n")
    (tmp_path / "test.conll").write_text("Ben P\nruns O\n")
    (tmp_path / "valid.conll").write_text("Anna P\nruns O\n\nCarla P\nruns O\n")
    corpus, _ = load_data(Registry(), str(tmp_path), TaggedTexts())
    assert corpus.splits["validation"].texts == [["Anna", "runs"], ["Carla", "runs"]]
    apart = corpus.without_duplicates()
    assert apart.train.texts == [["Dan", "runs"]]
    assert apart.splits["validation"].targets == [[1, 0], [1, 0]]
