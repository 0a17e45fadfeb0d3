"""Simulated runs with known differences: how often verdicts are wrong, and what they find."""
