"""What every room's tests share."""

import gc
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import forked
import pytest
from xdist.scheduler import LoadFileScheduling

from zoo.cli import main
from zoo.registry import Registry
from zoo.registry.loading import built_ins

# Folders and files that share what takes seconds to make: trained models, rendered pages, a process
# with another hash seed. Those of the same name stay in one process.
TOGETHER = {
    "tests/conformance": "conformance",
    "tests/conformance/test_generic.py": "generic",
    "tests/inference": "inference",
    "tests/sweep/test_against.py": "streamed",
    "tests/sweep/test_streamed.py": "streamed",
    "tests/report/test_page.py": "pages",
    "tests/report/test_page_browser.py": "pages",
    "tests/report/test_plots.py": "pages",
}
# What takes ten seconds or more on one core, the longest first.
LONGEST = (
    "test_broken.py",
    "test_kill.py",
    "test_process.py",
    "test_bench.py",
    "test_executors.py",
    "test_failures.py",
)


class FilesAndFolders(LoadFileScheduling):
    """The tests of a file run in one process, and so do those of folders that stay together."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return TOGETHER.get(file) or TOGETHER.get(file.rpartition("/")[0], file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FilesAndFolders:
    return FilesAndFolders(config, log)


def pytest_xdist_setupnodes(config: pytest.Config, specs: Sequence[Any]) -> None:
    for spec in specs if forked.ADDRESS in os.environ else ():
        spec.python = f"{sys.executable} {forked.__file__}"


def pytest_configure(config: pytest.Config) -> None:
    # Collection makes millions of objects that stay: looking through them again and again is a
    # quarter of its time, and all later looks leave them out (pytest_collection_finish).
    gc.disable()
    # No test pulls the plug, and waiting for the disk takes ten milliseconds a file.
    os.fsync = lambda descriptor: None
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker:
        # Read when SciPy loads its own BLAS, whose threads were seen to wait for one another for
        # ever on a busy machine.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        import torch

        from zoo.measure.memory import keep_blocks

        keep_blocks()  # or the pages of each larger tensor are paid for anew
        # Each worker keeps to a core of its own, and so does whatever it starts: threads that spin
        # while they wait for one another make two on one core many times as slow as one.
        torch.set_num_threads(1)
        if hasattr(os, "sched_setaffinity"):
            cores = sorted(os.sched_getaffinity(0))
            os.sched_setaffinity(0, {cores[int(worker.removeprefix("gw")) % len(cores)]})
        forked.use()
    elif config.option.numprocesses and sys.platform == "linux":
        folder = tempfile.TemporaryDirectory()
        config.add_cleanup(folder.cleanup)
        process = forked.start_forking(Path(folder.name))
        config.add_cleanup(process.communicate)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # What takes longest begins first, so that no core waits for another at the end.
    rank = {name: number for number, name in enumerate(LONGEST)}
    items.sort(
        key=lambda item: (
            rank.get(item.path.name, len(rank)),
            not item.nodeid.startswith(tuple(TOGETHER)),
        )
    )
    for item in items:
        if item.get_closest_marker("gpu"):
            import torch

            if not torch.cuda.is_available():
                item.add_marker(pytest.mark.skip(reason="no CUDA device"))


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture
def registry() -> Registry:
    """The built-ins alone, whatever else is installed; each test may admit more to its own."""
    return built_ins()


@pytest.fixture
def said(capsys) -> Callable[..., Any]:
    """Run a command that ends with this status; what it prints is ``out`` and ``err``."""

    def run(*words: object, status: int = 0) -> Any:
        capsys.readouterr()
        assert main([str(word) for word in words]) == status
        return capsys.readouterr()

    return run


@pytest.fixture
def refused_command(capsys) -> Callable[..., str]:
    """Run a command that is refused; the one line that it prints."""

    def run(*words: object, command: Callable[[list[str]], int] = main) -> str:
        capsys.readouterr()
        assert command([str(word) for word in words]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        (line,) = printed.err.splitlines()
        return line

    return run
