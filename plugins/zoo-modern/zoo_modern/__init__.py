"""The parts of today's transformers, one a file.

Shapes in all files: B batch, L length, D model width, H heads, Dh head width; Lq and Lk where
queries and keys differ in length.
"""
