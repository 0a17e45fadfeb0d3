"""A throw-away environment, with real distributions in it."""

from __future__ import annotations

import os
import site
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import zoo


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
        # Where the zoo is not installed but stands on the path.
        env["PYTHONPATH"] = str(Path(zoo.__file__).parents[1])
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
