"""Trained models: save, load, predict, evaluate, attention maps."""
