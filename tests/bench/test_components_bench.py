"""Every registered component that computes tensors is measured, without a list of names."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from bench.components.cases import KINDS, SCALES, NothingToMeasure, choices, make
from bench.components.timings import main as publish
from bench.components.timings import read
from zoo.registry import KINDS as EVERY_KIND
from zoo.registry import Owner, Register

ROOT = Path(__file__).parents[2]
# Components without anything to measure, and why.
FITTED = (
    *("tfidf-logreg", "majority", "frequent-tag", "window-logreg"),
    *("ngram", "neighbour-ngram"),
)
NOTHING = {
    "ffn/none": "no network",
    **dict.fromkeys((f"baseline/{name}" for name in FITTED), "fitted"),
}


def test_every_component_is_measured_but_data_tasks_metrics_and_executors(registry):
    named = {f"{c.component.kind}/{c}" for c in choices(registry)}
    assert set(EVERY_KIND) - set(KINDS) == {"data", "task", "metric", "executor", "tracker"}
    components = (component for kind in KINDS for component in registry.components(kind))
    assert named == {f"{c.kind}/{registry.label(c)}" for c in components}


def test_every_component_has_a_forward_and_a_backward_pass(registry):
    for choice in choices(registry):
        name = f"{choice.component.kind}/{choice}"
        if name in NOTHING:
            with pytest.raises(NothingToMeasure, match=NOTHING[name]):
                make(choice, SCALES["small"])
            continue
        case = make(choice, SCALES["small"])
        assert torch.isfinite(case.forward()).all(), name
        gradients = case.backward()()
        assert any(g is not None and g.abs().max() > 0 for g in gradients), name


def test_a_component_registered_later_is_measured(registry):
    class Halved(torch.nn.Module):
        def __init__(self, dim: int) -> None:
            super().__init__()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x / 2

    register = Register(Owner("example", "1"))
    register("norm", "halved", Halved, summary="x / 2")
    registry.admit(register)
    choice = next(c for c in choices(registry) if str(c) == "halved")
    case = make(choice, SCALES["large"])
    torch.testing.assert_close(case.forward(), case.leaves[0] / 2)


@pytest.mark.slow
def test_saved_runs_can_be_compared(tmp_path):
    words = [sys.executable, "-m", "pytest", "bench", "--benchmark-only", "-q", "-k", "rms-small"]
    more = ["--benchmark-autosave", f"--benchmark-storage={tmp_path}", "--benchmark-max-time=0.01"]
    # pytest-benchmark measures nothing in a worker of xdist, nor in a process with its variables.
    env = {name: value for name, value in os.environ.items() if "XDIST" not in name}
    done = subprocess.run(
        [*words, *more], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "norm, forward, small" in done.stdout
    (first,) = tmp_path.glob("*/0001_*.json")  # another run would have the same names
    publish([str(first), str(tmp_path / "published")])
    environment, (timing,) = read(tmp_path / "published")
    assert (timing.kind, timing.component, timing.distribution) == ("norm", "rms", "encoder-zoo")
    assert set(timing.seconds["small"]) == {"forward", "backward"}
    assert environment.sizes == {"small": SCALES["small"].description}
    assert environment.torch == torch.__version__
    shutil.copy(first, first.with_name(first.name.replace("0001", "0002", 1)))
    compared = subprocess.run(
        [
            *(sys.executable, "-m", "pytest_benchmark", f"--storage={tmp_path}"),
            *("compare", "--group-by=fullname"),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    for name in ("test_forward", "test_backward"):
        found = re.findall(rf"^{name}\[norm/rms-small\] \((000[12])_", compared.stdout, re.M)
        assert sorted(found) == ["0001", "0002"], compared.stdout
