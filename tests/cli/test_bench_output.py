"""What ``zoo bench`` prints of a run: the table, JSON, or the answer alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_runs import QUICK, flags

from zoo.cli import main

RUN = [
    "bench",
    *flags(QUICK),
    "--on",
    "inline",
    "--attention",
    "fused",
    "--pe",
    "rope,sin",
    "--out",
    "out",
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory in which a run's records are in ``out``."""
    folder = tmp_path_factory.mktemp("output")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main([*RUN, "--quiet"]) == 0
    return folder


def printed(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[str, str]:
    monkeypatch.chdir(place)
    assert main([*RUN, *words]) == 0
    found = capsys.readouterr()
    return found.out, found.err


def test_json_is_what_zoo_report_prints(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = printed(place, monkeypatch, capsys, "--json")
    found = json.loads(out)
    assert {row["pe"] for row in found["rows"]} == {"rope", "sin"}
    assert all(0 <= row["accuracy_mean"] <= 1 for row in found["rows"])
    assert main(["report", "out", "--tables", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [found]


def test_a_plan_as_json_says_what_runs_and_why_the_rest_does_not(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = printed(place, monkeypatch, capsys, "--plan", "--json", "--attention", "fused,torch")
    (plan,) = json.loads(out)
    assert plan["task"] == "classify"
    skipped = {
        (row["cell"]["attention"], row["cell"]["pe"]): row["skipped"] for row in plan["rows"]
    }
    assert "rotate" in skipped["torch", "rope"]
    assert skipped["fused", "rope"] == skipped["torch", "sin"] == ""


def test_quiet_prints_the_answer_and_the_directory_alone(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = printed(place, monkeypatch, capsys, "--quiet", "--fresh")
    assert err == ""
    lines = out.splitlines()
    assert lines[-1] == "Records and tables: out"
    whole, err = printed(place, monkeypatch, capsys)
    assert "there already" in err
    assert set(lines) < set(whole.splitlines())
    assert "train s" in whole
    assert "train s" not in out
