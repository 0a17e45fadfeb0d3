"""Generating tokens from a decoder: greedily, by sampling, or by beam search."""

from zoo.models.decoding.generate import Decoding, Generation, generate, transduce
from zoo.models.decoding.sampling import Sampling

__all__ = ["Decoding", "Generation", "Sampling", "generate", "transduce"]
