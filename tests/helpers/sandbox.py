"""A place with distributions of its own."""

import contextlib
import importlib
import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
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
    """A folder of distributions, which are installed for whoever has it on the path."""

    folder: Path

    def install(self, *wheels: Path) -> None:
        """Unpack wheels, which takes milliseconds."""
        for wheel in wheels:
            zipfile.ZipFile(wheel).extractall(self.folder)

    def pip_install(self, *arguments: str | Path) -> None:
        """Install with pip, without an index and with the build back ends that are here."""
        options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
        pip = [sys.executable, "-m", "pip", "install", *options, "--target", self.folder]
        done = subprocess.run([*pip, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    @property
    def path(self) -> list[str]:
        """The folder, and those that its .pth files name: the projects of editable installs."""
        lines = [
            line for file in self.folder.glob("*.pth") for line in file.read_text().splitlines()
        ]
        return [str(self.folder), *lines]

    def zoo(self, *arguments: str, plugins: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run the zoo command in this process, and forget what it imported from the folder."""
        with self.on_the_path():
            return run_zoo(*arguments, plugins=plugins)

    def run(
        self, *arguments: str, plugins: str | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run Python with these arguments in a process of its own."""
        path = os.pathsep.join([*self.path, ROOT])
        env = {k: v for k, v in os.environ.items() if k != "ZOO_PLUGINS"} | {"PYTHONPATH": path}
        if plugins is not None:
            env["ZOO_PLUGINS"] = plugins
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, env=env, cwd=cwd, check=False
        )

    @contextlib.contextmanager
    def on_the_path(self) -> Iterator[None]:
        before, path = list(sys.path), self.path
        sys.path[:0] = path
        importlib.invalidate_caches()
        try:
            yield
        finally:
            sys.path[:] = before
            for name, module in list(sys.modules.items()):
                if str(getattr(module, "__file__", "")).startswith(tuple(path)):
                    del sys.modules[name]
