"""Norms: ``Norm(dim)(x)`` maps (…, D) to (…, D), each position on its own."""
