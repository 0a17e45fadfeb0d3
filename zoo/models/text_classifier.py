"""A trained classifier that takes texts."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizers import Tokenizer
from torch import Tensor, nn

from zoo.components.tokens import Tokens
from zoo.data.batches import padded
from zoo.models.text_model import Answer, TextPredictor, evaluating


class TextClassifier(TextPredictor):
    """Texts to classes. ``forward`` takes token ids, everything else takes texts.

    model: a Classifier or a DeepEnsemble. labels: names of the classes, in the order of logits.
    """

    def __init__(
        self, model: nn.Module, tokenizer: Tokenizer, max_length: int, labels: Sequence[str]
    ) -> None:
        super().__init__(model, tokenizer, max_length)
        self.labels = list(labels)

    def forward(self, ids: Tensor, tokens: Tokens) -> Tensor:
        """Ids (B, L) to logits (B, classes)."""
        logits: Tensor = self.model(ids, tokens)
        return logits

    def answers(self, ids: Sequence[list[int]]) -> list[Answer]:
        """The likeliest class of each text of token ids, and the probability of every class."""
        found = []
        for probabilities in self(*padded(ids, self.device)).float().softmax(dim=-1).tolist():
            named = dict(zip(self.labels, probabilities, strict=True))
            best = max(named, key=named.__getitem__)
            found.append(Answer(best, named[best], named))
        return found

    def logits(self, texts: Sequence[str]) -> Tensor:
        """Logits (texts, classes) of all texts in one batch, without dropout."""
        ids = [encoding.ids[: self.max_length] for encoding in self.encode(texts)]
        with evaluating(self):
            logits: Tensor = self(*padded(ids, self.device)).float()
        return logits
