"""Statistics over records: intervals, paired tests, ratios, effects."""
