"""The documentation site: ``python -m bench.docs``, or ``make docs``."""
