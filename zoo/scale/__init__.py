"""How the cost of a cell grows with length, width, depth or batch: ``zoo scale``."""
