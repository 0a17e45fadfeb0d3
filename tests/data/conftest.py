"""A cache and a Hub of each test's own: nothing here touches the user's, or the network."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from fakehub import Answer
from huggingface_hub import constants
from huggingface_hub.utils import close_session
from small_run_fixtures import small_disk

from zoo.data.sources.corpus import Corpus, Examples

__all__ = ["small_disk"]


@pytest.fixture(autouse=True)
def own_caches_and_hub(tmp_path, monkeypatch) -> Iterator[None]:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "zoo-cache"))
    # The client reads the place of its cache only when it is imported.
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
    # Port 9 (discard) refuses: the Hub that no test reaches unless it starts one.
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    yield
    close_session()  # it has the proxies of this test


@pytest.fixture
def tiny() -> Corpus:
    return Corpus(
        "tiny",
        {
            "train": Examples(
                ["the cat sat on the mat", "a dog barks", "cats purr", "dogs and more dogs"],
                [0, 1, 0, 1],
            ),
            "test": Examples(["the cat", "the dog barks at the mat"], [0, 1]),
        },
        ["cat", "dog"],
        {"source": "made up"},
    )


@pytest.fixture
def serve(monkeypatch) -> Iterator[Callable[..., list[str]]]:
    """Start a Hub that answers by a function of the path; gives the list of what it was asked."""
    servers: list[ThreadingHTTPServer] = []

    def start(answer: Callable[[str], Answer]) -> list[str]:
        asked: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(f"{self.command} {self.path}")
                status, headers, body = answer(self.path.partition("?")[0])
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            do_HEAD = do_GET  # noqa: N815 - the name the server looks for

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        return asked

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
