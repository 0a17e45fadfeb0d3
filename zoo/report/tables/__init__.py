"""Records as tables: CSV, Markdown, LaTeX, text."""
