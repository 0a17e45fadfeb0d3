"""Plots of a run, as SVG and PNG: the same records give the same bytes."""
