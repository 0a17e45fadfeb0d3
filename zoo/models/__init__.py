"""Models assembled from components."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zoo.models.classifier import Classifier
    from zoo.models.decoder import Decoder
    from zoo.models.encoder import Encoder
    from zoo.models.encoder_decoder import EncoderDecoder
    from zoo.models.language_model import LanguageModel

__all__ = ["Classifier", "Decoder", "Encoder", "EncoderDecoder", "LanguageModel"]

_WHERE = {
    "Classifier": "classifier",
    "Decoder": "decoder",
    "Encoder": "encoder",
    "EncoderDecoder": "encoder_decoder",
    "LanguageModel": "language_model",
}


def __getattr__(name: str) -> Any:
    """Import a model only when it is used: planning imports this package without torch."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
