"""Published results: every directory of records becomes a page, and the pages an overview."""
