"""Wheels made by hand: a real distribution in a few milliseconds, without a build."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

WHEEL = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def write_wheel(
    folder: Path,
    distribution: str,
    files: Mapping[str, str],
    *,
    version: str = "1.0",
    entry_points: str,
    requires: str = "",
) -> Path:
    """A wheel of these files (path to text) with that entry_points.txt."""
    stem = f"{distribution.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
    if requires:
        metadata += f"Requires-Dist: {requires}\n"
    everything = {
        **files,
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": WHEEL,
        f"{info}/entry_points.txt": entry_points,
    }
    record = "".join(f"{path},,\n" for path in [*everything, f"{info}/RECORD"])
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in {**everything, f"{info}/RECORD": record}.items():
            wheel.writestr(name, text)
    return path
