"""Tasks, one a file, and the metrics that score them."""
