"""Reports of one run on several data sets."""
