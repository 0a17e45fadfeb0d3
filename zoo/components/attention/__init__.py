"""Attention variants; ``zoo.components.attention.base`` states the contract."""
