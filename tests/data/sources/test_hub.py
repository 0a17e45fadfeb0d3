"""Data sets of the Hub: downloaded, cached, and given up soon without network."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable

import pytest
from fakehub import COMMIT, hub_of, jsonl
from refused import refused

from zoo.data.sources.hub import BBC_NEWS, load_bbc_news
from zoo.data.sources.load_data import load_corpus
from zoo.data.sources.row_reader import LabelledTexts
from zoo.registry import Registry

Serve = Callable[..., list[str]]

ROWS = [
    {"text": "shares fell", "label": 1, "label_text": "business"},
    {"text": "a late goal", "label": 0, "label_text": "sport"},
]
FILES = {"train.jsonl": jsonl(ROWS), "test.jsonl": jsonl(ROWS[:1])}
CARD = b"""---
dataset_info:
  features:
  - {name: body, dtype: string}
  - name: kind
    dtype: {class_label: {names: {'0': ham, '1': spam}}}
---
A card.
"""


def test_bbc_news_comes_from_the_hub_once_and_then_from_its_cache(serve, monkeypatch, tmp_path):
    asked = serve(hub_of(BBC_NEWS.partition("@")[0], FILES))
    first = load_bbc_news()
    assert first.name == "bbc-news"
    assert first.label_names == ["sport", "business"]
    assert first.train.texts == ["shares fell", "a late goal"]
    assert (first.train.targets, first.test.targets) == ([1, 0], [1])
    assert first.notes["revision"] == COMMIT
    requests = len(asked)

    looked_up: list[object] = []
    with monkeypatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", lambda *host, **_: looked_up.append(host))
        assert load_bbc_news() == first
    assert (len(asked), looked_up) == (requests, []), "a pinned revision in the cache needs no Hub"

    snapshot = next((tmp_path / "hub").glob("datasets--*/snapshots/*"))
    (snapshot / "test.jsonl").unlink()
    assert load_bbc_news() == first
    assert len(asked) > requests, "what is missing in the cache is downloaded again"


def test_the_default_is_newswire_where_the_hub_cannot_be_reached(registry, capfd):
    before = dict(os.environ)
    corpus, notices = load_corpus(registry, None)
    assert corpus.name == "newswire"
    assert len(notices) == 1
    assert notices[0].startswith("bbc-news cannot be loaded (")
    assert "newswire instead" in notices[0]
    assert "\n" not in notices[0]
    assert dict(os.environ) == before
    assert capfd.readouterr() == ("", ""), "no retries on the terminal"


def test_a_portal_in_place_of_the_hub_is_no_reason_to_stop(registry, serve):
    page = b"<html>Please log in to the airport's network</html>"
    serve(lambda _: (200, {"Content-Type": "text/html"}, page))
    corpus, notices = load_corpus(registry, None)
    assert corpus.name == "newswire"
    assert len(notices) == 1


@pytest.mark.parametrize(
    ("spec", "column", "says"),
    [
        ("hub:owner/name", "body", r"no column 'body'.*There is: text, label, label_text"),
        ("hub:owner/nme", "text", "hub:owner/nme cannot be loaded: RepositoryNotFoundError"),
        ("hub:", "text", "write hub:owner/name"),
        ("hub:a/b/c", "text", "write hub:owner/name"),
        ("hub:owner name", "text", "write hub:owner/name"),
    ],
)
def test_what_the_hub_does_not_hold_is_refused(serve, spec, column, says):
    serve(hub_of("owner/name", FILES))
    refused(says, load_corpus, Registry(), spec, LabelledTexts(text_column=column))


def test_a_hub_data_set_with_columns_class_names_and_no_test_split(serve, monkeypatch):
    rows = [{"body": f"message {i}", "kind": i % 2} for i in range(8)]
    serve(hub_of("owner/mails", {"README.md": CARD, "train.jsonl": jsonl(rows)}))
    reader = LabelledTexts(text_column="body", label_column="kind")
    corpus, notices = load_corpus(Registry(), "hub:owner/mails", reader)
    assert corpus.label_names == ["ham", "spam"]
    assert (len(corpus.train.texts), len(corpus.test.texts)) == (6, 2)
    assert "no test split" in notices[0]

    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    again, _ = load_corpus(Registry(), "hub:owner/mails", reader)
    assert again == corpus


IN_A_PROCESS = """
import sys
LIGHT = {"torch", "datasets", "huggingface_hub", "tokenizers", "pandas", "pyarrow", "sklearn"}
import zoo.data, zoo.data.sources.load_data
print(sorted({*LIGHT, "numpy"} & set(sys.modules)))
import zoo.data.encoding
from zoo.data.sources import hub, newswire, row_reader
print(sorted(LIGHT & set(sys.modules)))
zoo.data.encoding.encode_labelled(newswire.load(train=20, test=5), 300, 32)
raw = hub.read_tables("owner/name", "label")
print(row_reader.LabelledTexts().data_set(raw)[0].label_names, "torch" in sys.modules)
"""


def test_a_process_imports_what_it_needs(serve, tmp_path):
    """Naming data imports nothing heavy, loading and encoding them no torch."""
    serve(hub_of("owner/name", FILES))
    done = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS],
        env={**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_DISABLE_TELEMETRY": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.splitlines() == ["[]", "[]", "['sport', 'business'] False"]
    assert done.stderr == ""
