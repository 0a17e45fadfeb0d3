"""What may be written after --data, and the errors for everything else."""

from pathlib import Path
from typing import Any

import pytest
from refused import refused

from zoo.config.request import validated
from zoo.data.sources.corpus import Corpus
from zoo.data.sources.load_data import DEFAULT_PAIRS, find_registered, load_corpus
from zoo.registry import Owner, Register, Registry
from zoo.tasks import lm, tag
from zoo.tasks.classify import Classify, ClassifyOptions


@pytest.fixture
def working_directory(tmp_path, monkeypatch) -> Path:
    """A working directory with a data file in it."""
    rows = "".join(f"text {i},{'ab'[i % 2]}\n" for i in range(8))
    (tmp_path / "mine.csv").write_text(f"text,label\n{rows}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def admit(registry: Registry, name: str, factory: Any) -> None:
    register = Register(Owner("zoo-others", "1.2"))
    register("data", name, factory, summary="data of a plug-in", parameters={"size": 2})
    registry.admit(register)


def test_a_registered_name_with_parameters(registry):
    corpus, notices = load_corpus(registry, "newswire(seed=2, train=30, test=7)")
    assert (corpus.name, notices) == ("newswire(seed=2, train=30, test=7)", [])
    assert (len(corpus.train.texts), len(corpus.test.texts)) == (30, 7)
    refused(r"no parameter 'sead'; did you mean 'seed'", load_corpus, registry, "newswire(sead=2)")


@pytest.mark.parametrize("spec", ["mine.csv", "./mine.csv", "{}/mine.csv"])
def test_a_path(registry, working_directory, spec):
    corpus, notices = load_corpus(registry, spec.format(working_directory))
    assert corpus.name == "mine.csv"
    assert corpus.label_names == ["a", "b"]
    assert "seed 0" in notices[0]


def test_what_exists_as_a_path_is_the_path(registry, working_directory):
    for name in ("newswire", "sort (1)"):
        (working_directory / name).mkdir()
        (working_directory / name / "train.csv").write_text(Path("mine.csv").read_text())
        corpus, notices = load_corpus(registry, name)
        assert corpus.label_names == ["a", "b"]
    assert not any("is a path" in notice for notice in notices)
    says = "'newswire' is a path here; the data set is builtin:newswire"
    assert says in load_corpus(registry, "newswire")[1]
    for full in ("encoder-zoo:newswire", "builtin:newswire"):
        built_in, _ = load_corpus(registry, f"{full}(train=10, test=5)")
        assert built_in.name == "newswire(train=10, test=5)"
    refused(
        "no data 'builtin:newswir'; did you mean 'newswire'",
        load_corpus,
        registry,
        "builtin:newswir",
    )
    for default in (DEFAULT_PAIRS, lm.DEFAULT_DATA, tag.DEFAULT_DATA):  # whatever is here
        (working_directory / default.rpartition(":")[2]).mkdir(exist_ok=True)
        assert find_registered(registry, default)


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("newswir", r"no data 'newswir', and no such file.*did you mean 'newswire'\?.*bbc-news"),
        ("bbc", "no data 'bbc'.*There is: .*bbc-news.*or a path, or hub:owner/name"),
        ("", "no data ''"),
        ("nowhere/at/all", "no data 'nowhere/at/all', and no such file"),
        ("SetFit/bbc-news", "no data 'SetFit/bbc-news'.*or a path, or hub:owner/name"),
    ],
)
def test_an_unknown_spec_names_the_nearest(registry, working_directory, spec, complaint):
    refused(complaint, load_corpus, registry, spec)


@pytest.mark.parametrize(
    ("spec", "options", "says"),
    [
        (
            None,
            {"text_column": "body"},
            "--text-column: for files and hub: data, and 'builtin:bbc",
        ),
        ("bbc-news", {"text_column": "body"}, "--text-column: for files and hub: data"),
        ("newswire", {"test_size": 0.1}, "--test-size: for files and hub: data, and 'newswire' is"),
        ("newswire", {"header": False, "test_size": 0.2}, "--test-size and --no-header: for files"),
        ("hub:owner/name", {"delimiter": ";"}, "--delimiter: for files, and 'hub:owner/name' is"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(registry, spec, options, says):
    reader = Classify().reader(validated(ClassifyOptions, options))
    refused(says, load_corpus, registry, spec, reader)


def test_a_plugins_data_set(registry, tiny):
    admit(registry, "theirs", lambda size=0: tiny)
    assert load_corpus(registry, "zoo-others:theirs")[0] is tiny
    sized = load_corpus(registry, "zoo-others:theirs(size=3)")[0]
    assert (sized.name, sized.fingerprint) == ("theirs(size=3)", tiny.fingerprint)


def fail(size: int = 0) -> Corpus:
    raise KeyError("broken")


@pytest.mark.parametrize(
    ("factory", "complaint"),
    [
        (fail, r"data 'theirs' of zoo-others 1.2 cannot be loaded: KeyError: 'broken'"),
        (lambda: {"train": []}, r"data 'theirs' of zoo-others 1.2 gives no Corpus but a dict"),
    ],
)
def test_a_plugins_data_set_that_breaks_its_contract(registry, factory, complaint):
    admit(registry, "theirs", factory)
    refused(complaint, load_corpus, registry, "theirs")
