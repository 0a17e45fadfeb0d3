"""Installed distributions, made in a folder on the path: modules, entry points and metadata."""

from pathlib import Path


def install(folder: Path, name: str, plugin: str, *, entry_points: str = "", **files: str) -> str:
    """Install version 1.0 of a distribution whose plug-in is one module; returns its name.

    files: further modules by name.
    """
    module = name.replace("-", "_")
    for each, text in {module: plugin, **files}.items():
        (folder / f"{each}.py").write_text(text, "utf-8")
    metadata = folder / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(entry_points or f"[zoo]\n{name} = {module}\n")
    return name
