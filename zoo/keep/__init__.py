"""Trained models: kept in a directory, loaded, asked, judged and looked into."""
