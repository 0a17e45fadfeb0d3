"""Transformers: models of the zoo as its models, and attentions of the zoo in its models.

Importing it registers both with the ``Auto`` classes and the attention interface of Transformers.
"""

from __future__ import annotations

from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from zoo_hf.auto_models import (
    ZooForSequenceClassification,
    ZooForTokenClassification,
    ZooModel,
    ZooPreTrainedModel,
    text_model,
)
from zoo_hf.masked_model import ZooForMaskedLM
from zoo_hf.model_card import write_model_card
from zoo_hf.offered_attentions import OfferedAttention, offer, offer_all, offering, use_plugins
from zoo_hf.zoo_config import ZooConfig

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
    "text_model",
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
PreTrainedModel.get_correct_attn_implementation = offering(
    PreTrainedModel.get_correct_attn_implementation
)
