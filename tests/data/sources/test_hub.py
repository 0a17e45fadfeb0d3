"""Data sets of the Hub: downloaded, cached, and given up soon without network."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial

import pytest
from fakehub import COMMIT, hub_of, jsonl
from refused import refused

import zoo.data.sources.hub as hub_module
from zoo.data.sources.hub import BBC_NEWS, load_bbc_news
from zoo.data.sources.labelled_texts import LabelledTexts
from zoo.data.sources.load_data import load_corpus
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


@contextmanager
def within_a_minute() -> Iterator[None]:
    start = time.monotonic()
    yield
    # It takes a second where the machine is quiet; the client alone tries for minutes.
    assert time.monotonic() - start < 60


def test_bbc_news_comes_from_the_hub_once_and_then_from_its_cache(serve, monkeypatch, tmp_path):
    asked = serve(hub_of(BBC_NEWS.partition("@")[0], FILES))
    first = load_bbc_news()
    assert first.name == "bbc-news"
    assert first.label_names == ["sport", "business"]
    assert first.train_texts == ["shares fell", "a late goal"]
    assert (first.train_labels, first.test_labels) == ([1, 0], [1])
    assert first.notes["revision"] == COMMIT
    requests = len(asked)

    looked_up: list[object] = []
    with monkeypatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", lambda *host, **_: looked_up.append(host))
        assert load_bbc_news() == first
    assert (len(asked), looked_up) == (requests, []), "a pinned revision in the cache needs no Hub"

    snapshot = next((tmp_path / "hub").glob("datasets--*/snapshots/*"))
    (snapshot / "test.jsonl").unlink()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    refused(r"HF_HUB_OFFLINE is set, and the Hub's cache has no copy", load_bbc_news)
    assert len(asked) == requests, "offline is offline"


def test_the_default_is_newswire_where_the_hub_cannot_be_reached(registry, capfd):
    before = dict(os.environ)
    with within_a_minute():
        corpus, notices = load_corpus(registry, None)
    assert corpus.name == "newswire"
    assert len(notices) == 1
    assert "127.0.0.1:9 cannot be reached: Connection refused" in notices[0]
    assert "newswire instead" in notices[0]
    assert "\n" not in notices[0]
    assert dict(os.environ) == before
    assert capfd.readouterr() == ("", ""), "no retries on the terminal"


@contextmanager
def silent_server() -> Iterator[str]:
    """Accepts a connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def server_that_says(letters: Iterable[bytes], pause_s: float) -> Iterator[str]:
    """Answers the first request with these bytes, one after another."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.recv(1000)
                for letter in letters:
                    connection.sendall(letter)
                    time.sleep(pause_s)

        threading.Thread(target=answer, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def slow_server() -> AbstractContextManager[str]:
    """Answers so slowly that no single read ever times out."""
    header = b"HTTP/1.1 200 OK\r\n" + b"X-Slow: 1\r\n" * 9
    return server_that_says((bytes([letter]) for letter in header), 0.05)


@contextmanager
def hanging_resolution() -> Iterator[str]:
    """The look-up of a name takes as long as the test."""
    released = threading.Event()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", lambda *_, **__: released.wait())
        yield "http://hub.invalid"
    released.set()


SLOW = [silent_server, slow_server, hanging_resolution]
ENDPOINTS = {
    "http://user:secret@127.0.0.1:9": "Hub at 127.0.0.1:9 cannot be reached: .*or newswire",
    "nonsense": "the Hub at nonsense cannot be reached: .*missing an .http://. or",
    "http://[bad": r"Hub at \[bad cannot be reached",
    "http://127.0.0.1:port": "cannot be reached: InvalidURL",
    "ftp://127.0.0.1:9": "the Hub at 127.0.0.1:9 cannot be reached",
}


@pytest.mark.parametrize(
    ("hub", "reason"),
    [
        *((hub, r"cannot be reached: (no answer within|.*imed out)") for hub in SLOW),
        (
            partial(server_that_says, [b"SSH-2.0-OpenSSH_9.6\r\n"], 0),
            "RemoteProtocolError",
        ),
        *((partial(nullcontext, endpoint), reason) for endpoint, reason in ENDPOINTS.items()),
    ],
)
def test_a_hub_that_does_not_answer_as_one_is_given_up_soon_and_in_one_line(
    monkeypatch, capfd, hub, reason
):
    if hub in SLOW:
        monkeypatch.setattr(hub_module, "ANSWER_LIMIT_S", 0.3)
    with hub() as endpoint, within_a_minute():
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
        caught = refused(reason, hub_module.load, "owner/name", LabelledTexts())
    assert "secret" not in str(caught)
    assert capfd.readouterr() == ("", "")


def test_a_proxy_that_cannot_be_reached_is_an_unreachable_hub(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    refused(r"hub\.invalid cannot be reached: Connection refused", load_bbc_news)


def test_a_portal_in_place_of_the_hub_is_no_reason_to_stop(registry, serve):
    page = b"<html>Please log in to the airport's network</html>"
    serve(lambda _: (200, {"Content-Type": "text/html"}, page))
    corpus, notices = load_corpus(registry, None)
    assert corpus.name == "newswire"
    assert len(notices) == 1


def test_a_hub_that_is_busy_is_an_unreachable_one(serve):
    serve(lambda _: (503, {}, b"busy"))
    refused("cannot be reached: it answers 503", load_bbc_news)


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
    refused(says, load_corpus, Registry(), spec, LabelledTexts(column))


def test_a_hub_data_set_with_columns_class_names_and_no_test_split(serve, monkeypatch):
    rows = [{"body": f"message {i}", "kind": i % 2} for i in range(8)]
    serve(hub_of("owner/mails", {"README.md": CARD, "train.jsonl": jsonl(rows)}))
    reader = LabelledTexts("body", "kind")
    corpus, notices = load_corpus(Registry(), "hub:owner/mails", reader)
    assert corpus.label_names == ["ham", "spam"]
    assert (len(corpus.train_texts), len(corpus.test_texts)) == (6, 2)
    assert "no test split" in notices[0]

    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    again, notices = load_corpus(Registry(), "hub:owner/mails", reader)
    assert again == corpus
    assert "using the copy in the Hub's cache" in notices[0]


IN_A_PROCESS = """
import os, socket, sys, threading
LIGHT = {"torch", "datasets", "huggingface_hub", "tokenizers", "pandas", "pyarrow", "sklearn"}
import zoo.data, zoo.data.sources.load_data
print(sorted({*LIGHT, "numpy"} & set(sys.modules)))
import zoo.data.encoding
from zoo.data.sources import hub, labelled_texts, newswire
print(sorted(LIGHT & set(sys.modules)))
zoo.data.encoding.encode_labelled(newswire.load(train=20, test=5), 300, 32)
hub.ANSWER_LIMIT_S = 60  # on a busy machine too
print(hub.load("owner/name", labelled_texts.LabelledTexts())[0].label_names, "torch" in sys.modules)
from zoo.registry.loading import load
os.environ["HF_ENDPOINT"], hub.ANSWER_LIMIT_S = "http://hub.invalid", 0.3
socket.getaddrinfo = lambda *_, **__: threading.Event().wait()
print(zoo.data.sources.load_data.load_corpus(load().registry, None)[0].name)
"""


def test_a_process_imports_what_it_needs_and_ends_though_name_resolution_hangs(serve, tmp_path):
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
    assert done.stdout.splitlines() == ["[]", "[]", "['sport', 'business'] False", "newswire"]
    assert done.stderr == ""
