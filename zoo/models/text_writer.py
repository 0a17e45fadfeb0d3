"""A trained language model, or encoder-decoder, that takes texts and writes texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer
from torch import nn

from zoo.data.encoding.encoded_pairs import END as TARGET_END
from zoo.data.encoding.encoded_pairs import PAD, START, decode_text, encode_source
from zoo.data.encoding.encoded_stream import END
from zoo.errors import ZooError
from zoo.inference.card import Card
from zoo.models.decoding.generate import Decoding, Generation, generate, transduce
from zoo.models.decoding.sampling import Sampling
from zoo.models.encoder_decoder import EncoderDecoder
from zoo.models.language_model import LanguageModel
from zoo.registry.cell import Cell

NEW_TOKENS = 50  # of a language model that is not told how many


@dataclass(frozen=True)
class Written:
    """What a model wrote: of a language model what follows the prompt, else the whole target.

    tokens: how many; ended: whether the text came to its end; log_probability: of all of it, its
    end included, under the model itself (nats).
    """

    prompt: str
    text: str
    tokens: int
    ended: bool
    log_probability: float


class TextWriter(nn.Module):
    """Prompts to texts. card: how it came to be.

    A language model continues a prompt; an encoder-decoder writes the target of a source. Both
    take prompts that leave room in the ``max_length`` tokens they were trained for.
    """

    def __init__(
        self, model: LanguageModel | EncoderDecoder, tokenizer: Tokenizer, card: Card, cell: Cell
    ) -> None:
        super().__init__()
        self.model, self.tokenizer, self.card, self.cell = model, tokenizer, card, cell
        self.max_length = card.sizes.max_length

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return next(self.parameters()).device

    @property
    def transduces(self) -> bool:
        """Whether it writes a text of its own, and does not continue the prompt."""
        return isinstance(self.model, EncoderDecoder)

    def write(
        self,
        prompts: Iterable[str],
        *,
        max_new: int | None = None,
        sampling: Sampling | None = None,
        beams: int = 1,
        no_repeat: int | None = None,
        cache: bool = True,
    ) -> Iterator[Written]:
        """A text for each prompt, one after another, each as if it were the only one.

        max_new: the most tokens to write; None for 50 of a language model, and for all there is
        room for of an encoder-decoder. The rest as in ``zoo.models.decoding.Decoding``; the cache
        changes the time it takes and not a token. Raises ZooError, by its number, for a prompt
        that is empty or leaves no room, and for values that cannot be.
        """
        if isinstance(prompts, str):
            raise ZooError("write takes a list of prompts, not one prompt")
        # None keeps keys and values where the model can; False never does.
        use_cache = None if cache else False
        for number, prompt in enumerate(prompts, start=1):
            ids, room = self._read(prompt, number)
            if max_new is not None and max_new > room:
                raise ZooError(
                    f"{max_new} new tokens: prompt {number} leaves room for {room} of the "
                    f"model's {self.max_length}"
                )
            few = room if self.transduces else NEW_TOKENS
            try:
                decoding = Decoding(
                    min(room, few) if max_new is None else max_new,
                    sampling=sampling,
                    beams=beams,
                    no_repeat=no_repeat,
                    cache=use_cache,
                    end=TARGET_END if self.transduces else END,
                    banned=(PAD, START) if self.transduces else (),
                )
                found = self._generate(ids, decoding)
            except ValueError as error:
                raise ZooError(str(error)) from error
            yield Written(
                prompt, self._text(found.ids), len(found.ids), found.ended, found.log_probability
            )

    def _read(self, prompt: str, number: int) -> tuple[list[int], int]:
        """The ids of a prompt, and how many tokens may follow."""
        if not isinstance(prompt, str):
            raise ZooError(f"prompt {number} is no text but a {type(prompt).__name__}")
        if not prompt.strip():
            raise ZooError(f"prompt {number} is empty: there is nothing in it to go on from")
        if any("\ud800" <= letter <= "\udfff" for letter in prompt):
            raise ZooError(f"prompt {number} holds half a character (a lone surrogate)")
        if isinstance(self.model, EncoderDecoder):
            ids = encode_source(self.tokenizer, prompt.strip())
            too_long, room = len(ids) > self.max_length, self.max_length - 1
        else:
            ids = [END, *self.tokenizer.encode(prompt).ids]
            too_long, room = len(ids) >= self.max_length, self.max_length - len(ids)
        if too_long:
            raise ZooError(
                f"prompt {number} takes {len(ids)} tokens: too long for this model of "
                f"{self.max_length}"
            )
        return ids, room

    def _generate(self, ids: list[int], decoding: Decoding) -> Generation:
        batch = torch.tensor([ids], device=self.device)
        if isinstance(self.model, EncoderDecoder):
            return transduce(self.model, batch, decoding, start=START)[0]
        return generate(self.model, batch, decoding)[0]

    def _text(self, ids: list[int]) -> str:
        if isinstance(self.model, EncoderDecoder):
            return decode_text(self.tokenizer, ids)
        text: str = self.tokenizer.decode(ids)
        return text
