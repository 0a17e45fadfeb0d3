"""Checks of positional encodings, by theme."""
