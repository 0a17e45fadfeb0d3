"""What a machine without a network needs for ``bench/gpu.sh``, in one directory.

    python -m bench.gpu_bundle DIRECTORY [--data data/bbc-news] [--python 3.12]   # make gpu-bundle
    python bench/gpu_bundle.py DIRECTORY --install     # there: what is missing, and the plug-ins

The machine has torch and the large libraries (NumPy, SciPy, pandas, scikit-learn, matplotlib,
tokenizers, transformers, pytest); the small ones come as wheels for its version of Python.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OWN = (".", *(f"plugins/zoo-{name}" for name in ("efficient", "modern", "peers")))
SMALL = (  # with what they need
    *("click", "filelock", "jinja2", "joblib", "packaging", "platformdirs", "pluggy", "psutil"),
    *("pydantic", "safetensors", "tabulate", "threadpoolctl", "tqdm"),
    *("pytest", "pytest-benchmark", "pytest-timeout", "pytest-xdist", "hypothesis"),
)
MOST_MIB = 60  # what such a machine takes beside the repository


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the bundle, or install it."""
    parser = argparse.ArgumentParser(prog="python -m bench.gpu_bundle", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--data", type=Path, default=ROOT / "data" / "bbc-news")
    parser.add_argument("--python", default="3.12")
    parser.add_argument("--install", action="store_true")
    options = parser.parse_args(arguments)
    if options.install:
        install(options.directory / "wheels")
        return 0
    collect(options.directory, options.data, options.python)
    size = sum(f.stat().st_size for f in options.directory.rglob("*") if f.is_file()) / 2**20
    print(f"{options.directory}: {size:.1f} MiB")
    if size > MOST_MIB:
        print(f"more than {MOST_MIB} MiB: too large to be carried", file=sys.stderr)
    return int(size > MOST_MIB)


def collect(directory: Path, data: Path, python: str) -> None:
    """Put wheels and data into a directory, in place of what was there."""
    wheels = directory / "wheels"
    shutil.rmtree(directory, ignore_errors=True)
    wheels.mkdir(parents=True)
    pip = [sys.executable, "-m", "pip"]
    quiet = ["--quiet", "--disable-pip-version-check"]
    own = ["--no-deps", "--wheel-dir", str(wheels), *(str(ROOT / path) for path in OWN)]
    subprocess.run([*pip, "wheel", *quiet, *own], check=True)
    target = ["--only-binary", ":all:", "--python-version", python, "--implementation", "cp"]
    for platform in ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"):
        target += ["--platform", platform]
    pins = ["--constraint", str(ROOT / "constraints.txt")]
    subprocess.run(
        [*pip, "download", *quiet, *target, *pins, "-d", str(wheels), *SMALL], check=True
    )
    if data.is_dir():
        shutil.copytree(data, directory / data.name)


def install(wheels: Path) -> None:
    """Install, without an index, the wheels of what is not there, and the zoo's own."""
    needed = [wheel for wheel in sorted(wheels.glob("*.whl")) if _is_needed(wheel)]
    words = ["--no-index", "--no-deps", "--quiet", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *words, *map(str, needed)]
    if needed:
        subprocess.run(command, check=True)


def _is_needed(wheel: Path) -> bool:
    name, version = wheel.name.split("-")[:2]
    name = name.removesuffix("_core")  # pydantic takes one version of its core alone
    try:
        installed = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return True
    return "zoo" in name and installed != version


if __name__ == "__main__":
    sys.exit(main())
