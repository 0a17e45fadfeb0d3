"""Published lines say which commit of the code made them."""

import subprocess
from pathlib import Path

import pytest

from bench.commit import code_commit, commit_sentence, written

ROOT = Path(__file__).parents[2]


def test_the_commit_is_that_of_git():
    done = subprocess.run(
        ["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip("not a checkout")
    assert code_commit().rstrip("+") == done.stdout.strip()


def test_changed_code_has_a_plus_and_no_checkout_has_nothing():
    assert written({"commit": "a" * 40, "dirty": True}) == "a" * 40 + "+"
    assert written({"commit": "a" * 40, "dirty": False}) == "a" * 40
    assert written({}) == ""


def test_commits_are_shown_once_and_short():
    first, second = "a" * 40, "b" * 40 + "+"
    assert commit_sentence([first, second, first]) == "Commit: aaaaaaaaaaaa, bbbbbbbbbbbb+."
    assert commit_sentence(["", ""]) == "Commit: unknown."
