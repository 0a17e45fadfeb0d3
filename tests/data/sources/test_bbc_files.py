"""The real articles, from local files; skipped where they are missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from zoo.data.encoding import encode_labelled
from zoo.data.sources.load_data import load_corpus

FILES = Path(__file__).parents[4] / "shared" / "data" / "bbc-news"
pytestmark = pytest.mark.skipif(not FILES.is_dir(), reason="there are no BBC files")


@pytest.mark.slow
def test_bbc_news_from_files_is_read_cleaned_and_encoded(registry):
    corpus, notices = load_corpus(registry, str(FILES))
    assert notices == []
    assert corpus.label_names == ["tech", "business", "sport", "entertainment", "politics"]
    assert (len(corpus.train.texts), len(corpus.test.texts)) == (1225, 1000)
    assert corpus.duplicates == 53
    clean = corpus.without_duplicates()
    assert clean.duplicates == 0
    assert len(clean.test.texts) == 1000
    encoded = encode_labelled(clean, 4096, 256)
    assert encoded.vocab_size == 4096
    assert encoded.split("test").lengths.max() == 256
    assert encoded.corpus() == clean
