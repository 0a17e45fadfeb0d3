"""The page of a run: one HTML file that needs nothing else and no network."""
