"""Runs one function in a process with another hash seed, folder, date and random state."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from zoo.conformance.check import CheckFailed
from zoo.conformance.setup import Setup
from zoo.registry import BUILT_IN

# What another process is given, but for the folder: a hash seed and a number of days from today.
DIFFERENCES = ((1, 0), (2, 400))
_PROGRAM = """
import datetime, random, sys, time, types
import numpy
from zoo.registry.loading import load

kind, name, days, *files = sys.argv[1:]
shift, clock, Moment, Day = 86400 * int(days), time.time, datetime.datetime, datetime.date
random.seed(int(days))
numpy.random.seed(int(days))


class LaterMoment(Moment):
    @classmethod
    def now(cls, tz=None):
        return Moment.fromtimestamp(time.time(), tz)

    @classmethod
    def today(cls):
        return Moment.fromtimestamp(time.time())


class LaterDay(Day):
    @classmethod
    def today(cls):
        return Day.fromtimestamp(time.time())


made = load(files).registry.choose(kind, name)
# The date is another one in the component's module alone: compiled libraries need the real class.
changed = {**vars(datetime), "datetime": LaterMoment, "date": LaterDay}
other = {Moment: LaterMoment, Day: LaterDay}
module = sys.modules[made.component.resolve().__module__]
for key, value in list(vars(module).items()):
    if value is datetime:
        setattr(module, key, types.SimpleNamespace(**changed))
    elif isinstance(value, type) and value in other:
        setattr(module, key, other[value])
time.time = lambda: clock() + shift
"""


def elsewhere(setup: Setup, body: str, hash_seed: int, days: int) -> str:
    """What ``body`` prints in a new process, where ``made`` is the choice of the set-up.

    Raises CheckFailed where it raises. Other plug-ins than the component's own are not loaded.
    """
    owner, kind = setup.choice.component.owner, setup.choice.component.kind
    given = [str(Path(file).resolve()) for file in setup.files]
    files = [file for file in given if Path(file).name == owner.distribution]
    environment = {
        **os.environ,
        "ZOO_PLUGINS": "" if files or owner.distribution == BUILT_IN else owner.distribution,
        "PYTHONPATH": os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path),
        "PYTHONHASHSEED": str(hash_seed),
    }
    command = [sys.executable, "-c", _PROGRAM + body, kind, str(setup.choice), str(days), *files]
    with tempfile.TemporaryDirectory(prefix="zoo-") as folder:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=folder, check=False
        )
    if done.returncode:
        raise CheckFailed(f"in a new process: {''.join(done.stderr.splitlines()[-1:])}")
    return done.stdout
