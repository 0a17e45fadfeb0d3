"""Transformers: models of the zoo as its models, and attentions of the zoo in its models.

Importing it registers both with the ``Auto`` classes and the attention interface of Transformers.
"""

from __future__ import annotations

from zoo.errors import ZooError

try:
    import transformers as transformers
except ImportError as error:
    raise ZooError(
        "zoo.hf needs Transformers: pip install 'encoder-zoo[hf]', or transformers>=5.23 and "
        "accelerate"
    ) from error

from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    PreTrainedTokenizerFast,
)

from zoo.hf.auto_models import (
    ZooForSequenceClassification,
    ZooForTokenClassification,
    ZooModel,
    ZooPreTrainedModel,
)
from zoo.hf.masked_model import ZooForMaskedLM
from zoo.hf.offered_attentions import OfferedAttention, offer, offer_all, use_plugins
from zoo.hf.zoo_config import ZooConfig
from zoo.inference.hub_card import write_model_card

__all__ = [
    "OfferedAttention",
    "ZooConfig",
    "ZooForMaskedLM",
    "ZooForSequenceClassification",
    "ZooForTokenClassification",
    "ZooModel",
    "ZooPreTrainedModel",
    "offer",
    "offer_all",
    "use_plugins",
    "write_model_card",
]

AutoConfig.register(ZooConfig.model_type, ZooConfig)
AutoTokenizer.register(ZooConfig, fast_tokenizer_class=PreTrainedTokenizerFast)
AutoModel.register(ZooConfig, ZooModel)
AutoModelForMaskedLM.register(ZooConfig, ZooForMaskedLM)
AutoModelForSequenceClassification.register(ZooConfig, ZooForSequenceClassification)
AutoModelForTokenClassification.register(ZooConfig, ZooForTokenClassification)
offer_all()
