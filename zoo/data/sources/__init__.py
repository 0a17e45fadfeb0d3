"""Where data come from: built-in sets, files, the Hugging Face Hub."""
