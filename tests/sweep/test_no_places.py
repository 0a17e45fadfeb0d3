"""What a run writes for others names no place of this machine, and can still be repeated here."""

import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from small_runs import FAILING

from zoo.cli import main
from zoo.config.places import portable, without_places
from zoo.sweep.records import Record, RecordFile

SMALL = (
    "--epochs 1 --set dim=16,heads=2,layers=1,vocab_size=300 --max-length 16 --pe rope "
    "--seeds 1 --phases train --baseline none --threads 1"
).split()
ROWS = "text,label\n" + "".join(f"text {'ab'[n % 2]} {n},{'ab'[n % 2]}\n" for n in range(40))
NAME = "geheim"


def written(*folders: Path) -> dict[str, bytes]:
    """Every file in the folders; Python's own copies of code are no results."""
    files = (file for folder in folders for file in folder.rglob("*") if file.suffix != ".pyc")
    return {str(file): file.read_bytes() for file in files if file.is_file()}


def test_no_file_that_is_written_names_a_place_of_this_machine(
    tmp_path, monkeypatch, capsys, drawing
):
    """The home and the temporary folder have the name too."""
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", drawing)
    here, home = tmp_path / NAME / "project", tmp_path / NAME / f"{NAME}-home"
    for folder in (here / "data", home):
        folder.mkdir(parents=True)
    for variable, place in {"HOME": home, "TMPDIR": home, "ZOO_CACHE": home / "cache"}.items():
        monkeypatch.setenv(variable, str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.chdir(here)
    (here / "data" / "rows.csv").write_text(ROWS + "no label\n")
    (here.parent / "elsewhere.csv").write_text(ROWS.replace("text ", "other "))
    for place in (here / "broken.py", here.parent / "outside.py"):
        shutil.copy(FAILING, place)
    within = ["--data", str(here / "data" / "rows.csv"), "--plugin", str(here / "broken.py")]
    bench = ["bench", "--attention", "fused,raises,exits", *within, "--drop-bad-rows", *SMALL]
    bench += ["--jobs", "1", "--out", str(here / "runs" / "within")]
    assert main(bench) == 1, capsys.readouterr().err
    outside = ["--data", str(here.parent / "elsewhere.csv"), "--init", "pretrain"]
    outside += ["--set", "pretrain_epochs=1"]
    outside += ["--plugin", str(here.parent / "outside.py"), "--test", str(here / "data/rows.csv")]
    bench = ["bench", "--attention", "fused,raises", *outside, "--drop-bad-rows", *SMALL]
    assert main([*bench, "--on", "inline", "--out", "runs/outside"]) == 1, capsys.readouterr().err
    for file, content in written(here / "runs").items():
        for place in (NAME, str(tmp_path), sys.prefix, str(FAILING.parents[2])):
            assert place.encode() not in content, (file, content[content.index(place.encode()) :])

    records = {r.cell["attention"]: r for r in RecordFile(here / "runs" / "within").read()}
    assert 'File "zoo/components/attention/base.py", line ' in records["raises"].traceback
    assert 'File "torch/nn/modules/module.py", line ' in records["raises"].traceback
    assert "--data data/rows.csv" in records["fused"].command
    assert "--plugin broken.py" in records["fused"].command
    _, record = sorted(RecordFile(here / "runs" / "outside").read(), key=lambda r: r.status)
    for words in ("--data ../elsewhere.csv", "../outside.py"):
        assert words in record.command

    # What is within can be repeated, trained again, and reported where nothing else is.
    again = [*repeated(records["fused"]), "--on", "inline", "--out", "again"]
    assert main(again) == 0, capsys.readouterr().err
    (repeat,) = RecordFile(here / "again").read()
    assert repeat.metrics["accuracy"] == records["fused"].metrics["accuracy"]
    assert repeat.key == records["fused"].key
    train = ["train", "--from", "runs/within", "--save", "model", "--on", "inline"]
    assert main(train) == 0, capsys.readouterr().err
    assert not any(NAME.encode() in content for content in written(here / "model").values())
    moved = tmp_path / "moved"
    shutil.copytree(here / "runs" / "outside", moved / "run")
    monkeypatch.chdir(moved)
    assert main(["report", "run"]) == 0


def repeated(record: Record) -> list[str]:
    return shlex.split(record.command)[1:]


def test_a_path_in_a_message_is_as_others_may_know_it(tmp_path, monkeypatch):
    here, home = tmp_path / "work" / "project", tmp_path / "users" / "me"
    for folder in (here, home):
        folder.mkdir(parents=True)
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(home))
    known = {
        f"{here}/data/x.csv": "data/x.csv",
        f"{home}/x.csv": "~/x.csv",
        f"{here.parent}/other/x.csv": "../other/x.csv",
        f"{tmp_path}/users/you/x.csv": "../../users/you/x.csv",
        "/": "/",
        "data/x.csv": "data/x.csv",
        "newswire": "newswire",
    }
    assert {path: portable(path) for path in known} == known
    text = f"OSError: no '{here}/my data/x.csv', {home}/y.csv or /mnt/z.csv; 3/4 of https://a.b/c"
    shown = "OSError: no 'my data/x.csv', ~/y.csv or …/z.csv; 3/4 of https://a.b/c"
    assert without_places(text) == without_places(shown) == shown
    assert without_places(f'File "{os.__file__}", line 3') == 'File "os.py", line 3'
