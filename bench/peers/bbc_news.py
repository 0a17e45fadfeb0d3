"""BBC news, for the comparisons that need real texts."""

from __future__ import annotations

from bench.peers.model_pairs import MissingError
from bench.peers.options import Options
from zoo.data.sources.corpus import Corpus
from zoo.data.sources.load_data import load_corpus
from zoo.errors import ZooError
from zoo.registry import loading

QUICK = "newswire(train=120,test=60)"


def load_bbc_news(options: Options) -> Corpus:
    """The articles, from ``--data`` or the Hub; made-up ones with ``--quick``.

    Raises MissingError where they cannot be had.
    """
    spec = str(options.data) if options.data else QUICK if options.quick else "bbc-news"
    try:
        corpus, _ = load_corpus(loading.load().registry, spec)
    except ZooError as error:
        raise MissingError(
            f"needs BBC news ({' '.join(str(error).split())}): --data DIR with its train and "
            "test files"
        ) from error
    return corpus
