"""The configuration of a model of the zoo, as Transformers reads and writes it."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError
from transformers import PreTrainedConfig

from zoo.config.request import first_error
from zoo.errors import ZooError
from zoo.inference.saved_model import FORMAT, MODEL_TYPE, Card


class ZooConfig(PreTrainedConfig):  # type: ignore[misc]
    """A model of the zoo: its card, and the names of the classes it is to tell apart.

    card: what the zoo wrote into ``config.json`` when it saved the model. Its parts and sizes are
    those of the model; its metrics are of the training there, whatever happened to the weights
    since.
    """

    model_type = MODEL_TYPE
    card: dict[str, Any] | None = None

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """Also from the content of a ``config.json`` that the zoo wrote."""
        if config_dict.get("format") == FORMAT:
            card = {name: config_dict[name] for name in Card.model_fields if name in config_dict}
            config_dict = {"model_type": MODEL_TYPE, "card": card}
            if labels := card.get("labels"):
                config_dict["id2label"] = dict(enumerate(labels))
                config_dict["label2id"] = {label: number for number, label in enumerate(labels)}
        return super().from_dict(config_dict, **kwargs)

    def read_card(self) -> Card:
        """The card; ZooError where there is none, or none of this version of the zoo."""
        if self.card is None:
            raise ZooError(
                "a ZooConfig without a card describes no model; read one with "
                "AutoConfig.from_pretrained, from a directory of 'zoo train --save'"
            )
        try:
            return Card.model_validate(self.card)
        except ValidationError as error:
            raise ZooError(f"config.json does not describe a model: {first_error(error)}") from None

    @property
    def classes(self) -> list[str]:
        """The names of the classes, in the order of the logits."""
        return [self.id2label[number] for number in sorted(self.id2label)]

    @property
    def vocab_size(self) -> int:
        """The number of token ids."""
        return self.read_card().vocab_size

    @vocab_size.setter
    def vocab_size(self, value: int) -> None:
        self.card = self.read_card().model_copy(update={"vocab_size": value}).model_dump()

    @property
    def hidden_size(self) -> int:
        """The model's width D."""
        return self.read_card().sizes.dim

    @property
    def num_hidden_layers(self) -> int:
        """The number of blocks."""
        return self.read_card().sizes.layers

    @property
    def num_attention_heads(self) -> int:
        """The number of heads H that the model was asked to have."""
        return self.read_card().sizes.heads

    @property
    def max_position_embeddings(self) -> int:
        """The most tokens of a text that the model was trained to read."""
        return self.read_card().sizes.max_length
