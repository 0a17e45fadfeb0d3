"""Generating tokens from a decoder: greedy, sampling, beam search, and the key/value cache."""
