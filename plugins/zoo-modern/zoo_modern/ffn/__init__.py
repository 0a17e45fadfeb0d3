"""Feed-forward networks; zoo.components.ffn states the contract."""
