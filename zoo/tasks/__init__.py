"""What a model is trained for: its data, its loss, and the score its rows are ranked by."""
