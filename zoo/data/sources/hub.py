"""Data sets of the Hugging Face Hub: from its cache, or from the Hub if it can be reached.

The Hub's client retries for half a minute and says so on the terminal, reads its settings from the
environment only when it is imported, and cannot be called off. So the Hub is asked for a sign of
life first, in a few seconds, and the client runs in a process of its own (``hub_fetch``).
"""

from __future__ import annotations

import http.client
import json
import os
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo.data.sources.corpus import Corpus
from zoo.data.sources.files import read_corpus
from zoo.errors import ZooError, one_line

# With a start of Python before and after it this stays under five seconds.
PROBE_LIMIT_S = 2.5
_OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")
_REPOSITORY = re.compile(r"(?P<id>[\w.-]+(?:/[\w.-]+)?)(?:@(?P<revision>[\w./-]+))?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
OTHERWISE = "give a local path, hub:owner/name, or newswire, which needs no network"


class HubError(ZooError):
    """A Hub data set that cannot be had; ``reason`` is the short of it."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name} cannot be had: {reason}; {OTHERWISE}")
        self.reason = " ".join(reason.split())


def load(
    repository: str,
    *,
    name: str = "",
    required: Sequence[str] = (),
    text_column: str = "text",
    label_column: str = "label",
    seed: int = 0,
) -> tuple[Corpus, list[str]]:
    """The corpus of a Hub data set ``owner/name`` or ``owner/name@revision``, and its notices.

    A revision that is a full commit is read from the cache without asking the Hub; any other is
    asked for anew, and read from the cache, with a notice, where the Hub cannot be reached.
    required: splits without which it is not whole, as after a download that was cut short.
    Raises HubError where it cannot be had, ZooError where it does not fit.
    """
    match = _REPOSITORY.fullmatch(repository)
    if not match:
        raise ZooError(f"'hub:{repository}' is no Hub data set; write hub:owner/name")
    name = name or f"hub:{repository}"
    revision = match["revision"] or "main"
    request = {
        "repository": match["id"],
        "revision": revision,
        "columns": [text_column, label_column],
        "required": list(required),
    }
    notices: list[str] = []
    with tempfile.TemporaryDirectory(prefix="zoo-hub-") as scratch:

        def fetch(*, cached: bool) -> str:
            if cached and not _cache_of(match["id"]).is_dir():
                return "it is not in the cache"  # known without starting Python to find out
            return _fetch({**request, "directory": scratch, "cached": cached})

        pinned = _COMMIT.fullmatch(revision) is not None
        if not pinned or fetch(cached=True):
            reason = unreachable(match["id"])
            if reason is None:
                problem = fetch(cached=False)
                if problem:
                    raise HubError(name, problem)
            elif pinned or fetch(cached=True):
                raise HubError(name, f"{reason}, and the Hub's cache has no copy")
            else:
                notices.append(f"{name}: {reason}; using the copy in the Hub's cache")
        commit = json.loads((Path(scratch) / "done.json").read_text(encoding="utf-8"))["commit"]
        corpus, more = read_corpus(
            Path(scratch) / "splits",
            name=name,
            text_column=text_column,
            label_column=label_column,
            seed=seed,
        )
    corpus.notes.update(source=f"https://huggingface.co/datasets/{match['id']}", revision=commit)
    return corpus, notices + more


def unreachable(repository: str) -> str | None:
    """Why the Hub cannot be reached, found out in `PROBE_LIMIT_S` at most; None where it can."""
    setting = next((name for name in _OFFLINE if _is_true(os.environ.get(name))), None)
    if setting:
        return f"{setting} is set"
    endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    url = f"{endpoint.rstrip('/')}/api/datasets/{urllib.parse.quote(repository)}"
    # Not urlsplit, which refuses some of what people write; and never a password.
    host = endpoint.partition("://")[2].partition("/")[0].rpartition("@")[2] or endpoint
    answer: list[str | None] = []
    # A thread, because no timeout of a socket bounds the look-up of a name or a trickling answer.
    asker = threading.Thread(target=lambda: answer.append(_ask(url)), daemon=True)
    asker.start()
    asker.join(PROBE_LIMIT_S)
    reason = answer[0] if answer else f"no answer within {PROBE_LIMIT_S:g} s"
    return None if reason is None else f"the Hub at {host} cannot be reached: {reason}"


def _ask(url: str) -> str | None:
    """What is wrong with the answer to one request; None for any answer a Hub might give."""
    try:
        scheme, host, *_ = urllib.parse.urlsplit(url)
        proxies = urllib.request.getproxies()
        proxy = proxies.setdefault(scheme, proxies.get("all", ""))
        if proxy.startswith("socks") and not urllib.request.proxy_bypass(host):
            return None  # urllib speaks no SOCKS; the Hub's client may, and finds out for itself
        if not proxy:
            del proxies[scheme]
        opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies))
        with opener.open(url, timeout=PROBE_LIMIT_S) as response:
            response.read(1)
    except urllib.error.HTTPError as error:
        # Below 500 somebody answers: whether the data set exists is for the client to say.
        bad = error.code >= 500 or error.code == 407
        return f"it answers {error.code} {error.reason}" if bad else None
    except urllib.error.URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            return None  # reached; the client may know certificates that Python does not
        return str(getattr(error.reason, "strerror", None) or error.reason)
    except (OSError, ValueError, http.client.HTTPException) as error:
        return one_line(error)
    return None


def _cache_of(repository: str) -> Path:
    """The folder in which the Hub's client keeps a data set, by the variables it documents."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    hub = Path(os.environ.get("HF_HOME") or home) / "hub"
    cache = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE") or str(hub)
    name = repository.replace("/", "--")
    return Path(os.path.expandvars(cache)).expanduser() / f"datasets--{name}"


def _fetch(request: dict[str, Any]) -> str:
    """Have the client leave the splits in a directory; what went wrong in one line, or ''.

    request: what ``hub_fetch`` takes.
    """
    script = Path(__file__).with_name("hub_fetch.py")
    # -P: the script's own folder must not come first on the path and hide other modules.
    done = subprocess.run(
        [sys.executable, "-P", str(script), json.dumps(request)],
        env={**os.environ, "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode == 0:
        return ""
    lines = done.stderr.strip().splitlines()
    return lines[-1][:400] if lines else f"the Hub's client ended with status {done.returncode}"


def _is_true(setting: str | None) -> bool:
    return (setting or "").upper() in {"1", "ON", "YES", "TRUE"}
