"""Seeds together are shown to be the seeds apart before any time is taken."""

from __future__ import annotations

import json

import pytest
import torch

from bench import together
from zoo.harness.ensemble_trainer import EnsembleTrainer


def test_the_quick_run_prints_a_line_per_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    assert together.main(["--quick", "--rounds", "1", "--device", "cpu"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["work"], line["against"]) for line in lines] == [
        ("seeds together", "one seed"),
        ("seeds one by one", "seeds together"),
    ]
    assert lines[0]["reach"] == 1.5
    assert lines[0]["reached"] == (lines[0]["ratio"] <= 1.5)
    assert "seconds" not in lines[0]  # absolute times on a GPU only


def test_sides_that_are_unequal_are_not_timed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def spoiled(self: together.Scene) -> EnsembleTrainer:
        trainer = original(self)
        with torch.no_grad():
            next(iter(trainer.ensemble.parameters.values()))[3].mul_(2)
        return trainer

    original = together.Scene.together
    monkeypatch.setattr(together.Scene, "together", spoiled)
    assert together.main(["--quick", "--device", "cpu"]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "not timed: seed 3 differs" in told.err


def test_bad_usage_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--attention", "fussed"], ["--rounds", "0"], ["--device", "abacus"]):
        with pytest.raises(SystemExit) as end:
            together.main([*arguments, "--quick"])
        assert end.value.code == 2
        assert (
            capsys.readouterr().err.splitlines()[-1].startswith("python -m bench.together: error")
        )
