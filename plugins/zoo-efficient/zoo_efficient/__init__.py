"""Attentions for encoder-zoo whose cost grows slower than the square of the length.

Shapes in all files: B batch, L length, D model width, H heads, Dh head width; Lq and Lk where
queries and keys differ in length.
"""
