"""Models assembled from components."""
