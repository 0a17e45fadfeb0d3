"""Positional encodings; zoo.components.pe.base states the contract."""
