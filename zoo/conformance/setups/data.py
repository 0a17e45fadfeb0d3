"""The rig for data sets."""

from __future__ import annotations

from typing import Any

from zoo.conformance.base import CheckSkipped
from zoo.conformance.setups.base import Rig
from zoo.data.sources.corpus import Corpus
from zoo.errors import ZooError

# Loading takes a while, and a second look at a Hub out of reach tells nothing new.
_LOADED: dict[tuple[object, str], Corpus | ZooError] = {}


class DataRig(Rig):
    """Calls ``load(**parameters)``."""

    passes = ()

    @property
    def contract(self) -> type:
        """See Rig.contract."""
        return Corpus

    def make(self, dropout: float = 0.0) -> Any:
        """See Rig.make."""
        return self.choice.build()

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
