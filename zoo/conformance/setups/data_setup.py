"""The set-up for data sets."""

from __future__ import annotations

from typing import Any

from zoo.conformance.check import CheckSkipped
from zoo.conformance.setups.setup import Setup
from zoo.data.sources.corpus import Corpus
from zoo.errors import ZooError

# Loading takes a while, and so does finding that the Hub cannot be reached.
_LOADED: dict[tuple[object, str], Corpus | ZooError] = {}


class DataSetup(Setup):
    """Calls ``load(**parameters)``."""

    contract = Corpus

    def corpus(self) -> Any:
        """The corpus, loaded once a process; CheckSkipped where the data cannot be had here."""
        key = (self.choice.component.factory, str(self.choice))
        if key not in _LOADED:
            try:
                _LOADED[key] = self.make()
            except ZooError as error:
                _LOADED[key] = error
        loaded = _LOADED[key]
        if isinstance(loaded, ZooError):
            raise CheckSkipped(f"the data cannot be had here: {loaded}")
        return loaded
