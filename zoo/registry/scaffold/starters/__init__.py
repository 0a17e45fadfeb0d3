"""What a new plug-in of each kind starts from: files that are copied, with their names changed."""
