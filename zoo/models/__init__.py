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
    from zoo.models.masked_language_model import MaskedLanguageModel

__all__ = [
    "Classifier",
    "Decoder",
    "Encoder",
    "EncoderDecoder",
    "LanguageModel",
    "MaskedLanguageModel",
]

_WHERE = {
    "Classifier": "classifier",
    "Decoder": "decoder",
    "Encoder": "encoder",
    "EncoderDecoder": "encoder_decoder",
    "LanguageModel": "language_model",
    "MaskedLanguageModel": "masked_language_model",
}


def __getattr__(name: str) -> Any:
    """Import a model only when it is used: planning imports this package without torch."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
