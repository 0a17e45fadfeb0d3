"""Measuring one model: time, memory, FLOPs."""
