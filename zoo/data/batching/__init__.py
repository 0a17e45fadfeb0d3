"""Encoded data on the device, in batches."""
