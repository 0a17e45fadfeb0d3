"""attention/my-attention obeys its contract: each check of `zoo check` is a test."""

from zoo.testing import checks

test_conforms = checks("attention/my-attention")
