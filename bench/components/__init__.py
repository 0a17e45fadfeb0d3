"""Every registered component alone, forward and backward, at three sizes.

    pytest bench --benchmark-only --benchmark-autosave
    pytest-benchmark compare --group-by=fullname

The second line compares saved runs, such as those of two commits. Every registered component is
measured, also those of plug-ins. To publish a run:

    pytest bench --benchmark-only --benchmark-json run.json
    python -m bench.components.timings run.json results/components/cpu && make results
"""
