"""Records of ``zoo scale`` as tables and a plot."""
