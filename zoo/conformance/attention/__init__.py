"""Checks of attentions, by theme."""
