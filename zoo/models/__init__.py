"""Models assembled from components."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zoo.models.architectures import Classifier as Classifier
    from zoo.models.architectures import EncoderDecoder as EncoderDecoder
    from zoo.models.architectures import LanguageModel as LanguageModel
    from zoo.models.architectures import MaskedLanguageModel as MaskedLanguageModel
    from zoo.models.stack import Decoder as Decoder
    from zoo.models.stack import Encoder as Encoder

_WHERE = {
    "Classifier": "architectures",
    "Decoder": "stack",
    "Encoder": "stack",
    "EncoderDecoder": "architectures",
    "LanguageModel": "architectures",
    "MaskedLanguageModel": "architectures",
}
__all__ = list(_WHERE)


def __getattr__(name: str) -> Any:
    """Import a model only when it is used: planning imports this package without torch."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
