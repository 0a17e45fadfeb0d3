"""The pool components of this distribution, and their registration."""
