"""Feed-forward networks: ``FFN(dim, hidden, dropout)(x, layer)`` maps (…, D) to (…, D).

A factory may return None: the layer then has no feed-forward sub-layer at all.
"""
