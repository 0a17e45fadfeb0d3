"""A place that cannot be written to is refused before any work, and nothing is left there."""

import os

import pytest

import zoo
from zoo.errors import ZooError

# Whoever looked at the data first would say that there are none.
COMMANDS = {
    "bench": ["bench", "--data", "hub:nobody/nothing", "--on", "inline", "--out"],
    "lengths": ["bench", "--phases", "cost", "--max-length", "8,16", "--on", "inline", "--out"],
    "train": ["train", "--data", "hub:nobody/nothing", "--on", "inline", "--save"],
}
PLACES = {
    "/proc/zoo": "No such file or directory",
    "file": "it is a file; name a directory",
    "file/out": "Not a directory",
    "locked/out": "Permission denied",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_place_that_cannot_be_written_to_is_refused_before_any_work(
    folder, command, place, refused_command
):
    if place == "locked/out" and os.geteuid() == 0:
        pytest.skip("nothing is locked for root")
    (folder / "file").write_text("mine")
    (folder / "locked").mkdir(mode=0o500)
    (folder / "run").mkdir()
    before = sorted(folder.rglob("*"))
    line = refused_command(*COMMANDS[command], place)
    assert f"{place} exists already" in line or f"cannot write to {place}: " in line
    assert PLACES[place] in line or "exists already" in line
    assert (sorted(folder.rglob("*")), (folder / "file").read_text()) == (before, "mine")


def test_python_and_pictures_refuse_it_too(folder, refused_command):
    with pytest.raises(ZooError, match="cannot write to /proc/zoo: "):
        zoo.bench("fused", "rope", data="newswire", out="/proc/zoo")
    for place in ("/proc/map.png", "nowhere/map.png"):
        assert f"cannot write to {place}: " in refused_command(
            "attend", "model", "a text", "--out", place
        )
