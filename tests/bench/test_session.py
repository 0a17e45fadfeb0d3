"""The recorded session is what the commands print."""

import re
import subprocess

import pytest

from bench.session import ABOUT, PAGE, ROOT, STEPS, record


def test_a_command_is_recorded_with_all_that_it_prints(tmp_path, said):
    text = record([("What is it?", "zoo info pe/rope"), ("", "pwd; echo wrong >&2")], tmp_path)
    # The file is named from the repository on, and lines have no blanks at their end.
    printed = said("info", "pe/rope").out.replace(f"{ROOT}/", "")
    lines = [line.rstrip() for line in printed.splitlines()]
    first, second = text.split("\n\n```console\n$ pwd")
    lead = ["What is it?", "", "```console", "$ zoo info pe/rope"]
    assert first.splitlines() == [*lead, *lines, "```"]
    assert second.splitlines()[-2:] == ["wrong", "```"]


def test_a_command_that_fails_is_an_error(tmp_path):
    with pytest.raises(subprocess.CalledProcessError):
        record([("", "zoo info pe/roope | cat")], tmp_path)


def test_the_page_has_every_command_and_no_path_of_a_machine():
    text = PAGE.read_text("utf-8")
    assert text.startswith(ABOUT)
    assert re.findall(r"^\$ (.+)$", text, re.MULTILINE) == [command for _, command in STEPS]
    assert not re.search(r"(?:^|\s)/\w+/", text)
