"""One QKV linear layer, softmax written out."""

from __future__ import annotations

from zoo.components.attention.projections import Packed as PackedProjection
from zoo.components.attention.split import Split


class Packed(Split):
    """As ``split``, with one matrix product for q, k and v (Vaswani et al. 2017, section 3.2.2)."""

    projection = PackedProjection
