"""Generated data sets on which components differ by construction."""
