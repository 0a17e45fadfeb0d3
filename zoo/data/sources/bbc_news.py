"""BBC news: 1,225 train and 1,000 test articles of 2004-2005 in five topics, from the Hub.

Source: D. Greene and P. Cunningham, "Practical Solutions to the Problem of Diagonal Dominance in
Kernel Document Clustering", ICML 2006. The articles are the BBC's, for non-commercial research.
"""

from __future__ import annotations

from zoo.data.sources import hub
from zoo.data.sources.corpus import Corpus

REPOSITORY = "SetFit/bbc-news"
# Pinned, so that a table made today can be made again whatever happens to the repository.
REVISION = "160d4af1d650b602d14cddc8df0baf07a0198643"


def load() -> Corpus:
    """The corpus as the Hub has it, with its 53 test documents that are also in train.

    Raises HubError where it is not in the Hub's cache and the Hub cannot be reached.
    """
    corpus, _ = hub.load(f"{REPOSITORY}@{REVISION}", name="bbc-news", required=("train", "test"))
    return corpus
