"""Blocks: how a layer arranges its sub-layers; ``base`` states the contract."""
