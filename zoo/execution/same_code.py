"""Refuses a job on a machine whose zoo or plug-ins are not those that the job was made with."""

from __future__ import annotations

import platform
from collections.abc import Iterable

import zoo
from zoo.errors import ZooError
from zoo.registry import BUILT_IN
from zoo.registry.code_hash import CodeVersion, ModuleCode, module_hash
from zoo.registry.plugins import version_of


def require_same_code(versions: Iterable[CodeVersion]) -> None:
    """Raise ZooError for a distribution that is missing here, or is of another version or code.

    Reads files and imports none. What code does is compared only where its bytes differ.
    """
    host = platform.node() or "this machine"
    for job in versions:
        name, needs = job.distribution, f"the job needs {job.distribution} {job.version}"
        here = zoo.__version__ if name == BUILT_IN else version_of(name)
        install = f"install it there: pip install {name}=={job.version}"
        if here is None:
            raise ZooError(f"{needs}, which is not installed on {host}; {install}")
        if here != job.version:
            raise ZooError(f"{needs}, and {host} has {name} {here}; {install}")
        if changed := [text for module in job.modules if (text := _change(name, module))]:
            raise ZooError(
                f"{needs} with the code that it has where the run was started, and on {host} it "
                f"has other code in {', '.join(changed)}; install the same code there, or start "
                "the run again if the code was edited while it ran"
            )


def _change(distribution: str, module: ModuleCode) -> str:
    """How a module differs here; empty where it does the same."""
    if module_hash(distribution, module.name, as_bytes=True) == module.content:
        return ""
    here = module_hash(distribution, module.name)
    return "" if here == module.code else f"{module.name} (hash {here}, expected {module.code})"
