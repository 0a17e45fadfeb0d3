"""The zoo's own components, one variant a file; each kind's ``base`` states its contract.

Shapes in all of them: B batch, L length, D model width, H heads, Dh head width; Lq and Lk where
queries and keys differ in length.
"""
