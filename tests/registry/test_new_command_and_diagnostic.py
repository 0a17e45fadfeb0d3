"""A command and a diagnostic of a stranger: each is one file and one line of registration."""

from __future__ import annotations

from pathlib import Path

from sandbox import SitePackages, run_zoo
from wheels import write_wheel

from zoo.report.read import read_run

COMMAND = '''
import click

from zoo import hookimpl
from zoo.registry.loading import load


@click.command()
@click.argument("kind")
def count(kind):
    """Count the components of KIND."""
    click.echo(len(load().registry.components(kind)))


@hookimpl
def zoo_commands(app):
    app("count", count, summary="Count the components of a kind.")
'''
DIAGNOSTIC = """
from functools import partial

from zoo import hookimpl
from zoo.data.sources.diagnostics.drawing import labelled_corpus


def draw_text(draw, length):
    return [draw.pick(("left", "right")) for _ in range(length)]


load = partial(labelled_corpus, "first-word", draw_text, lambda words: words[0], ["left", "right"],
               shortest=5, train=60, test=20, length=8, test_length=0, seed=0)


@hookimpl
def zoo_register(register):
    register("data", "first-word", load, summary="the first word", capabilities=["text-labels"])
"""


def test_a_command_is_listed_and_runs(tmp_path: Path) -> None:
    site = SitePackages(tmp_path / "site")
    files = {"zoo_count.py": COMMAND}
    site.install(
        write_wheel(tmp_path, "zoo-count", files, entry_points="[zoo]\ncount = zoo_count\n")
    )
    assert "count     Count the components of a kind." in site.zoo("--help").stdout
    pools = site.zoo("count", "pool", plugins="count")
    assert (pools.returncode, pools.stdout, pools.stderr) == (0, "2\n", "")


def test_a_diagnostic_is_benched(tmp_path: Path) -> None:
    file, out = tmp_path / "first_word.py", tmp_path / "out"
    file.write_text(DIAGNOSTIC, encoding="utf-8")
    model = "--dim 16 --heads 2 --layers 1 --epochs 1 --phases train --on inline".split()
    run = ["bench", "--plugin", str(file), "--data", "first-word", *model, "--out", str(out)]
    done = run_zoo(*run, plugins="")
    assert done.returncode == 0, done.stderr
    for record in read_run(out):
        assert record.status == "ok"
        assert record.config["data"]["name"] == "first-word"
