"""The steps that a GPU is measured by, at tiny sizes on the CPU: what they leave becomes pages."""

import subprocess
import tarfile
from pathlib import Path

import pytest

from bench.publish.__main__ import publish

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_dry_run_leaves_one_archive_of_at_most_eight_files_from_which_pages_are_made(tmp_path):
    subprocess.run(["bash", "bench/gpu.sh", tmp_path / "out", "--dry"], cwd=ROOT, check=True)
    with tarfile.open(tmp_path / "out" / "gpu.tar.gz") as archive:
        names = archive.getnames()
        archive.extractall(tmp_path / "results", filter="data")
    assert 5 <= len(names) <= 8
    pages = {run.place for run in publish(tmp_path / "results")}
    assert pages >= {"bbc-news/gpu/first-bf16", "bbc-news/gpu/one-factor"}
