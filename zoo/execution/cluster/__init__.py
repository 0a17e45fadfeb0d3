"""Jobs on several machines, whatever starts processes there. No torch and no engine is imported.

An engine (``engine.py``; Ray is one) places slots on nodes, carries calls to them, and notices what
dies. A slot is a process on a node that runs one job at a time, with the local executor of that
node. ``cluster_executor.py`` decides everything else, in the process that submits.
"""
