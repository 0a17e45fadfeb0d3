"""The attention components of this distribution, and their registration."""
