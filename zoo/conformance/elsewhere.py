"""What a component gives in processes with another hash seed, folder, date and random state."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from zoo.conformance.check import MODULES, CheckFailed, CheckSkipped
from zoo.conformance.setup import Setup
from zoo.registry import BUILT_IN

# What another process is given, but for the folder: a hash seed and a number of days from today.
DIFFERENCES = ((1, 0), (2, 400))
# What takes longest to import; the other processes have what this one has, and import it once.
_SLOW = ("torch", "sklearn.linear_model", "sklearn.feature_extraction.text", *MODULES)


def elsewhere(setup: Setup, function: str) -> set[str]:
    """All that the function says of the set-up's component in the other processes.

    function: ``package.module:function``, which takes a Choice and gives text. Raises CheckFailed
    where it raises, and CheckSkipped for a component that only this process has registered. Other
    plug-ins than the component's own are not loaded.
    """
    owner = setup.choice.component.owner
    given = [str(Path(file).resolve()) for file in setup.files]
    files = [file for file in given if Path(file).name == owner.distribution]
    question = {
        "kind": setup.choice.component.kind,
        "name": str(setup.choice),
        "files": files,
        "plugins": "" if files or owner.distribution == BUILT_IN else owner.distribution,
        "path": [str(Path(entry).resolve()) for entry in sys.path],
        "function": function,
    }
    return {_ask(seed, {**question, "days": days}) for seed, days in DIFFERENCES}


def _ask(hash_seed: int, question: dict[str, object]) -> str:
    process = _process(hash_seed, tuple(name for name in _SLOW if name in sys.modules))
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(question) + "\n")
    process.stdin.flush()
    reply = json.loads(process.stdout.readline())
    if "error" in reply:
        if reply["error"].startswith(f"ZooError: no {question['kind']} "):
            raise CheckSkipped("another process cannot load it: this one registered it")
        raise CheckFailed(f"in a new process: {reply['error']}")
    answer: str = reply["answer"]
    return answer


@cache
def _process(hash_seed: int, modules: tuple[str, ...]) -> subprocess.Popen[str]:
    """A process with this hash seed; it ends with this one, when its input does."""
    return subprocess.Popen(
        [sys.executable, "-m", "zoo.conformance.elsewhere_process", *modules],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tempfile.gettempdir(),
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path),
            "PYTHONHASHSEED": str(hash_seed),
        },
    )
