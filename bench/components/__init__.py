"""Every registered component alone, forward and backward, at two sizes.

    pytest bench --benchmark-only --benchmark-autosave
    pytest-benchmark compare --group-by=fullname

The second line holds the saved runs against one another, such as those of two commits. A component
that is registered, by a plug-in too, is measured: nothing is listed here.
"""
