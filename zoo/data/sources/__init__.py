"""Loading data: built-in data sets, files, the Hugging Face Hub."""
