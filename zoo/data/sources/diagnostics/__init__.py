"""Data sets made to tell parts apart."""
