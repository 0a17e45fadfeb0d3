"""Norms, and functions that stand in their place; zoo.components.norm states the contract."""
