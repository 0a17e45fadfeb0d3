"""Published results: directories of records become pages, and the pages an overview."""
