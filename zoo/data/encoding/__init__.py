"""Texts as token ids: tokenizers, encoded data, the cache."""
