"""The block components of this distribution, and their registration."""
