"""Conformance: a few mechanisms that hold each kind's parts to their contract.

A check is one mechanism, as it is applied to the parts of a kind; it fails with numbers.
``zoo check`` and ``zoo.testing.checks`` run the same ones.
"""
