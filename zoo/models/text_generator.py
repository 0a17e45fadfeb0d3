"""A trained language model or encoder-decoder that takes texts and generates texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch

from zoo.data.encoding import END, END_OF_TEXT, PAD, START, decode_target, encode_source
from zoo.data.sources.corpus import check_text
from zoo.errors import ZooError
from zoo.models.architectures import EncoderDecoder, LanguageModel
from zoo.models.decoding import Decoding, Sampling, generate, transduce
from zoo.models.text_model import TextModel

NEW_TOKENS = 50  # of a language model, without max_new


@dataclass(frozen=True)
class GeneratedText:
    """What a model generated: the continuation of the prompt, or the whole target.

    tokens: how many; ended: whether the end-of-text token came; log_probability: of all generated
    tokens, the end included, under the model (nats).
    """

    prompt: str
    text: str
    tokens: int
    ended: bool
    log_probability: float


class TextGenerator(TextModel):
    """Prompts to texts.

    model: a LanguageModel, which continues a prompt, or an EncoderDecoder, which generates the
    target of a source. A prompt must leave room in the ``max_length`` tokens of the model.
    """

    @property
    def continues_prompt(self) -> bool:
        """Whether the generated text continues the prompt; False: it is a text of its own."""
        return not isinstance(self.model, EncoderDecoder)

    def generate(
        self,
        prompts: Iterable[str],
        *,
        max_new: int | None = None,
        sampling: Sampling | None = None,
        beams: int = 1,
        no_repeat: int | None = None,
        cache: bool = True,
    ) -> Iterator[GeneratedText]:
        """Generate a text for each prompt, one at a time.

        max_new: most tokens to generate; None: 50 for a language model, all there is room for in
        an encoder-decoder. The rest is as in ``zoo.models.decoding.Decoding``; the cache changes
        the time and no token. Raises ZooError, naming the prompt's number, for a prompt that is
        empty or leaves no room, and for impossible values.
        """
        if isinstance(prompts, str):
            raise ZooError("generate takes a list of prompts, not one prompt")
        continues = self.continues_prompt
        for number, prompt in enumerate(prompts, start=1):
            ids, room = self._read(prompt, number)
            if max_new is not None and max_new > room:
                raise ZooError(
                    f"{max_new} new tokens: prompt {number} leaves room for {room} of the "
                    f"model's {self.max_length}"
                )
            usual = min(room, NEW_TOKENS) if continues else room
            try:
                decoding = Decoding(
                    usual if max_new is None else max_new,
                    sampling=sampling,
                    beams=beams,
                    no_repeat=no_repeat,
                    cache=None if cache else False,
                    end=END_OF_TEXT if continues else END,
                    banned=() if continues else (PAD, START),
                )
                batch = torch.tensor([ids], device=self.device)
                if isinstance(self.model, EncoderDecoder):
                    (generation,) = transduce(self.model, batch, decoding, start=START)
                    text = decode_target(self.tokenizer, generation.ids)
                else:
                    assert isinstance(self.model, LanguageModel)
                    (generation,) = generate(self.model, batch, decoding)
                    text = self.tokenizer.decode(generation.ids)
            except ValueError as error:
                raise ZooError(str(error)) from error
            yield GeneratedText(
                prompt, text, len(generation.ids), generation.ended, generation.log_probability
            )

    def _read(self, prompt: str, number: int) -> tuple[list[int], int]:
        """The ids of a prompt, and how many tokens may follow it."""
        check_text(f"prompt {number}", prompt)
        if isinstance(self.model, EncoderDecoder):
            ids = encode_source(self.tokenizer, prompt.strip())
            too_long, room = len(ids) > self.max_length, self.max_length - 1
        else:
            ids = [END_OF_TEXT, *self.tokenizer.encode(prompt).ids]
            too_long, room = len(ids) >= self.max_length, self.max_length - len(ids)
        if too_long:
            raise ZooError(
                f"prompt {number} takes {len(ids)} tokens: too long for this model of "
                f"{self.max_length}"
            )
        return ids, room
