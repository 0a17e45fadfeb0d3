"""Training one model: trainer, optimizer, checkpoint."""
