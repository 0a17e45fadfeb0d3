"""Pools: (x, attention_mask) -> (B, D); ``base`` states the contract."""
