"""Places with distributions of their own: a folder, which is quick, and a virtual environment."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import site
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import zoo
from zoo.cli import main

ROOT = str(Path(zoo.__file__).parents[1])


def run_zoo(
    *arguments: str, plugins: str | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the zoo command in this process; ``plugins`` becomes ``ZOO_PLUGINS``."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ZOO_PLUGINS", raising=False)
        if plugins is not None:
            patch.setenv("ZOO_PLUGINS", plugins)
        if cwd is not None:
            patch.chdir(cwd)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(arguments)
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())


@dataclass(frozen=True)
class SitePackages:
    """A folder of unpacked wheels: installed distributions for whoever has it on the path."""

    folder: Path

    def install(self, *wheels: Path) -> None:
        for wheel in wheels:
            zipfile.ZipFile(wheel).extractall(self.folder)

    def zoo(self, *arguments: str, plugins: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run the zoo command in this process, and forget what it imported from the folder."""
        with self.on_the_path():
            return run_zoo(*arguments, plugins=plugins)

    def run(self, program: str, plugins: str) -> subprocess.CompletedProcess[str]:
        """Run a Python program in a process of its own."""
        path = os.pathsep.join([str(self.folder), ROOT])
        env = {**os.environ, "PYTHONPATH": path, "ZOO_PLUGINS": plugins}
        command = [sys.executable, "-c", program]
        return subprocess.run(command, capture_output=True, text=True, env=env, check=False)

    @contextlib.contextmanager
    def on_the_path(self) -> Iterator[None]:
        sys.path.insert(0, str(self.folder))
        importlib.invalidate_caches()
        try:
            yield
        finally:
            sys.path.remove(str(self.folder))
            for name, module in list(sys.modules.items()):
                if str(getattr(module, "__file__", "")).startswith(str(self.folder)):
                    del sys.modules[name]


@dataclass(frozen=True)
class Sandbox:
    """A virtual environment that sees this one's packages and has plug-ins of its own."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def install(self, *what: Path, editable: bool = False) -> None:
        """Install wheels or projects, in one call of pip."""
        options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
        pip = [sys.executable, "-m", "pip", "--python", self.python, "install", *options]
        words = [word for path in what for word in ((["-e"] if editable else []) + [path])]
        done = subprocess.run([*pip, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def run(
        self, *command: str | Path, plugins: str | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run this environment's python; ``plugins`` becomes ``ZOO_PLUGINS``."""
        env = {k: v for k, v in os.environ.items() if k != "ZOO_PLUGINS"}
        env["PYTHONPATH"] = ROOT  # the zoo may not be installed
        if plugins is not None:
            env["ZOO_PLUGINS"] = plugins
        return subprocess.run(
            [self.python, *command], capture_output=True, text=True, env=env, cwd=cwd, check=False
        )

    def zoo(self, *arguments: str, plugins: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run the zoo command in it."""
        return self.run("-m", "zoo", *arguments, plugins=plugins, cwd=self.folder)


def make_sandbox(folder: Path, install: Sequence[Path] = ()) -> Sandbox:
    """A fresh sandbox with these wheels or projects installed."""
    venv.create(folder, with_pip=False, symlinks=True)
    sandbox = Sandbox(folder)
    (packages,) = (folder / "lib").glob("python*/site-packages")
    # addsitedir, unlike a bare path, follows the .pth files of editable installs.
    lines = [f"import site; site.addsitedir({path!r})\n" for path in site.getsitepackages()]
    (packages / "outer.pth").write_text("".join(lines))
    if install:
        sandbox.install(*install)
    return sandbox
