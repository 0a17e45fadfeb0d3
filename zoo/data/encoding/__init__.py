"""Encoding texts as token ids: tokenizers, encoded data, the cache."""
