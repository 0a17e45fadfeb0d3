"""Measuring one model: time and memory."""
