"""Other libraries' encoders as baselines of encoder-zoo: rows of the same table.

Shapes in all files: B batch, L length, D model width, H heads, Dh head width.
"""
