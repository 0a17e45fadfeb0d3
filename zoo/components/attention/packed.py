"""One QKV linear layer, softmax written out."""

from __future__ import annotations

from zoo.components.attention.projections import Packed as PackedProjection
from zoo.components.attention.split import Split


class Packed(Split):
    """softmax(Q Kᵀ / √Dh + bias) V, [Q, K, V] = X W in one matrix product.

    Vaswani et al. 2017, section 3.2.2; else as ``split``.
    """

    projection = PackedProjection
