"""A job is refused where the zoo or a plug-in is not the one that the job was made with."""

import contextlib
import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from sandbox import SitePackages
from small_runs import CLASSIFY, cell, prepared
from wheels import write_wheel

from zoo import __version__
from zoo.execution.base import Ended, Executor, Job, Limits, Result, TrainJob
from zoo.execution.local import InlineExecutor, LocalExecutor
from zoo.registry import BUILT_IN

SOURCE = '''\
"""An attention of an installed distribution."""

from zoo import hookimpl
from zoo.components.attention.fused import Fused


class Mine(Fused):
    """Attends as the fused one does."""


@hookimpl
def zoo_register(register):
    register("attention", "mine", Mine, summary="mine", parameters={},
             capabilities=("padding", "rotate", "bias"))
'''


@pytest.fixture(autouse=True)
def _selection(monkeypatch) -> None:
    monkeypatch.setenv("ZOO_PLUGINS", "zoo-mine")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> SitePackages:
    """The machine that submits."""
    return machine(tmp_path_factory.mktemp("here"), SOURCE)


def machine(folder: Path, source: str, version: str = "1.0") -> SitePackages:
    """Where that version of the distribution is installed."""
    entry = "[zoo]\nmine = zoo_mine\n"
    files = {"zoo_mine.py": source}
    packages = SitePackages(folder / "site")
    packages.install(write_wheel(folder, "zoo-mine", files, version=version, entry_points=entry))
    return packages


@pytest.fixture
def job(site) -> TrainJob:
    """A short training of a cell with the attention, from the machine that submits."""
    options = {**CLASSIFY, "data": "newswire(train=24,test=8)", "epochs": 1, "attention": "mine"}
    with site.on_the_path():
        setup = prepared(options).setup
    return TrainJob(setup, "a cell", "key", model=cell(attention="mine"))


def result(executor: Executor, job: Job, directory: Path) -> Result:
    (ended,) = (
        event
        for event in executor.run([job], limits=Limits(), directory=directory)
        if isinstance(event, Ended)
    )
    return ended.result


def refusal(executor: Executor, job: Job, directory: Path) -> str:
    """The one line with which a job is refused."""
    refused = result(executor, job, directory)
    assert (refused.status, refused.rejected, refused.metrics) == ("crashed", True, {})
    assert "\n" not in refused.reason
    return refused.reason


def test_a_job_names_its_distributions(job, site):
    own, mine = job.setup.code
    assert (own.distribution, own.version) == (BUILT_IN, __version__)
    assert (mine.distribution, mine.version) == ("zoo-mine", "1.0")
    assert list(mine.modules) == ["zoo_mine"]
    assert str(site.folder) not in repr(mine)


@pytest.mark.parametrize("executor", [LocalExecutor, InlineExecutor])
def test_a_machine_with_the_same_code_does_the_job(executor, job, tmp_path):
    executor = executor()
    with machine(tmp_path, SOURCE).on_the_path(), contextlib.closing(executor):
        done = result(executor, job, tmp_path)
    assert (done.status, done.reason) == ("ok", "")


INSTALL = "install it there: pip install zoo-mine==1.0"
OTHER_CODE = "with the code that it has where the run was started"


OTHER_COMPONENT = SOURCE.replace("(Fused):", "(Fused):\n    scale = 2.0\n")
OTHER_REGISTRATION = SOURCE.replace("parameters={}", 'parameters={"dropout": 0.1}')


@pytest.mark.parametrize(
    ("executor", "source", "version", "says"),
    [
        (InlineExecutor, SOURCE, "2.0", f", and .* has zoo-mine 2.0; {INSTALL}"),
        (LocalExecutor, "", "", f", which is not installed on .*; {INSTALL}"),
        (LocalExecutor, OTHER_COMPONENT, "1.0", OTHER_CODE),
        (InlineExecutor, OTHER_REGISTRATION, "1.0", OTHER_CODE),
    ],
    ids=["another version", "missing", "other component", "other registration"],
)
def test_another_machine_refuses_the_job(executor, source, version, says, job, tmp_path):
    there = machine(tmp_path, source, version).on_the_path() if version else nullcontext()
    with there, contextlib.closing(executor()) as one:
        line = refusal(one, job, tmp_path)
    assert re.match(f"the job needs zoo-mine 1.0.*{says}", line)
    if says == OTHER_CODE:
        assert "it has other code in zoo_mine; install the same code there" in line


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": "0.0.1"}, f"needs {BUILT_IN} 0.0.1, and "),
        ({"modules": "training"}, "has other code in training; "),
    ],
    ids=["version", "code"],
)
def test_another_zoo_is_refused(change, says, job, site, tmp_path):
    own, mine = job.setup.code
    if edited := change.get("modules"):
        change = {"modules": {**own.modules, edited: "0" * 16}}
    setup = replace(job.setup, code=(replace(own, **change), mine))
    with site.on_the_path():
        assert says in refusal(InlineExecutor(), replace(job, setup=setup), tmp_path)
