"""Jobs, and the executors that run them."""
