"""``--plugin file.py``: components from a single file, without packaging."""

import hashlib
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from refused import refused
from sandbox import run_zoo

from zoo.registry.component import file_of
from zoo.registry.loading import load

CORPUS = """
from zoo import part

SPLIT = (["the cat sat", "stocks fell", "a dog ran", "shares rose"] * 4, [0, 1, 0, 1] * 4)


@part("data", "pets", adds=("text-labels",))
def pets_or_shares(repeat=1):
    '''Two topics.'''
    from zoo.data.sources.corpus import Corpus

    texts, labels = SPLIT
    train = [f"{text} {n}" for n, text in enumerate(texts * repeat)]
    splits = {"train": (train, labels * repeat), "test": (texts[:4], labels[:4])}
    return Corpus("pets", splits, ["pets", "shares"])


@part("baseline", "one-label", adds=("texts",))
class Majority:
    '''One label.'''

    def fit(self, texts, labels):
        self.label = max(set(labels), key=list(labels).count)

    def predict(self, texts):
        return [self.label] * len(texts)

"""


@pytest.fixture
def corpus_file(tmp_path) -> Path:
    path = tmp_path / "my-corpus.py"
    path.write_text(CORPUS)
    return path


def test_its_owner_is_the_file_and_its_version_the_hash_of_its_contents(corpus_file):
    loaded = load([corpus_file, corpus_file.parent / "." / corpus_file.name])  # and is loaded once

    component = loaded.registry.get("data", "pets")
    digest = hashlib.sha256(corpus_file.read_bytes()).hexdigest()
    assert str(component.owner) == f"my-corpus.py {digest[:12]}"
    assert file_of(component.module) == corpus_file
    assert (loaded.files, loaded.warnings) == ((str(corpus_file),), [])
    row = loaded.plugins[-1]
    assert (row.name, row.distribution, row.version) == ("my-corpus", "my-corpus.py", digest[:12])


def test_a_thread_waits_until_another_has_run_the_file(tmp_path):
    """And gets all of it, however slow it is."""
    file = tmp_path / "slow.py"
    file.write_text(f"import time\n\ntime.sleep(0.3)\n{CORPUS}")
    with ThreadPoolExecutor() as threads:
        first, second = threads.map(load, [file, file])
    for loaded in (first, second):
        assert loaded.registry.get("baseline", "one-label").resolve().__name__ == "Majority"


def test_every_command_takes_it(corpus_file):
    plugin = ["--plugin", str(corpus_file)]

    assert "data/pets" in run_zoo("list", *plugin, plugins="").stdout
    assert "my-corpus.py" in run_zoo("plugins", *plugin, plugins="").stdout
    about = json.loads(run_zoo("info", "data/pets", "--json", *plugin, plugins="").stdout)
    assert about["parameters"] == {"repeat": 1}
    bench = ["bench", "--data", "pets", "--baseline", "one-label", "--plan"]
    planned = run_zoo(*bench, *plugin, plugins="")
    assert planned.returncode == 0, planned.stderr
    assert "one-label" in planned.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nowhere_at_all", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("x = 1", "it declares no part and has no hook that registers one"),
        (
            CORPUS.replace('"data", "pets"', '"data", "Pets!"'),
            "broken.py:7: illegal data name",
        ),
        (
            "from zoo import hookimpl\n\n@hookimpl\ndef zoo_register(register):\n"
            "    register('command', 'greet', print, summary='Say hello.')\n",
            "command 'greet': only a package can add commands",
        ),
    ],
)
def test_a_broken_file_was_asked_for_and_is_refused(tmp_path, text, message):
    path = tmp_path / "broken.py"
    path.write_text(text)

    done = run_zoo("list", "--plugin", str(path), plugins="")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"zoo list: error: plug-in file {path} cannot be used: ")
    assert message in line


def test_a_missing_file_a_folder_and_what_is_no_python_are_refused(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("")
    for path, message in [
        (tmp_path / "no.py", "cannot be read: No such file"),
        (tmp_path, "cannot be read: Is a directory"),
        (text, "its name must end in .py"),
    ]:
        refused(message, load, [path])


def test_an_import_from_beside_the_file_is_refused_for_it_has_no_digest(corpus_file, monkeypatch):
    """A module, or a package; the file alone says which results are there already."""
    folder = corpus_file.parent
    for name in ("beside_package", "beside_folder"):
        (folder / name).mkdir()
    for name in ("beside_module.py", "beside_package/__init__.py"):
        (folder / name).write_text("")
    monkeypatch.syspath_prepend(folder)
    for name in ("beside_module", "beside_package", "beside_folder"):
        corpus_file.write_text(f"from {name} import __name__ as name\n{CORPUS}")
        refused(f"imports {name} from beside it: make them a package", load, corpus_file)


def test_an_edit_within_the_same_second_is_read(tmp_path, monkeypatch):
    """Python's cache of bytecode tells files apart by their second and size alone."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path, labels = tmp_path / "edited.py", []
    for label in "12":
        path.write_text(CORPUS.replace("[0, 1, 0, 1] * 4)", f"[0, {label}, 0, 1] * 4)"))
        os.utime(path, (1e9, 1e9))
        module = sys.modules[load([path]).registry.get("data", "pets").owner.module]
        labels.append(module.SPLIT[1][1])
    assert labels == [1, 2]
