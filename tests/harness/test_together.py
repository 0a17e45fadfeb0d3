"""``zoo bench --together``: one worker trains a cell's seeds at once; the records are as ever."""

from __future__ import annotations

import copy
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from sweeps import TINY, zoo
from test_ensemble_trainer import RUNTIME, SEEDS, SIZES, TEXTS, models, split

from zoo.cli import main
from zoo.harness.ensemble_trainer import EnsembleTrainer
from zoo.harness.records import Record, RecordFile
from zoo.harness.settings import Training
from zoo.harness.together import keep, restore
from zoo.registry import Registry

GRID = "bench --attention fused,naive --pe sin --phases trials --seeds 3".split()
FAILING = Path(__file__).with_name("failing.py")

FICKLE = """
from zoo import hookimpl
from zoo.components.attention.fused import Fused

class Fickle(Fused):
    def attend(self, q, k, v, mask, bias):
        out = super().attend(q, k, v, mask, bias)
        return out if out.sum() > 0 else -out

@hookimpl
def zoo_register(register):
    able = ("rotate", "bias", "padding", "causal", "cross", "cache")
    register("attention", "fickle", Fickle, summary="it depends", capabilities=able)
"""


def by_row_and_seed(directory: Path) -> dict[tuple[str, int | None], Record]:
    records = RecordFile(directory).read()
    found = {(record.name, record.seed): record for record in records}
    assert len(found) == len(records)
    return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, corpus_directory: Path) -> tuple[Path, Path]:
    """The same request with and without --together."""
    base = tmp_path_factory.mktemp("together")
    common = [*GRID, *TINY, "--data", str(corpus_directory), "--token-dropout", "0.1"]
    assert main([*common, "--out", str(base / "apart")]) == 0
    assert main([*common, "--out", str(base / "together"), "--together"]) == 0
    return base / "apart", base / "together"


def test_every_seed_has_the_record_it_has_when_trained_by_itself(runs: tuple[Path, Path]) -> None:
    apart, together = (by_row_and_seed(directory) for directory in runs)
    assert apart.keys() == together.keys()
    for key, alone in apart.items():
        ours = together[key]
        assert (ours.status, ours.reason, ours.key) == ("ok", "", alone.key)
        assert ours.metrics.keys() - alone.metrics.keys() <= {"together", "apart"}
        for name in ("params", "scored", "accuracy", "f1", "confusion", "errors"):
            assert ours.metrics[name] == alone.metrics[name], (key, name)
        for mine, theirs in zip(ours.curve, alone.curve, strict=True):
            assert {n: v for n, v in mine.items() if n != "seconds"} == pytest.approx(
                {n: v for n, v in theirs.items() if n != "seconds"}, rel=1e-4
            )


def test_the_record_says_how_many_seeds_its_seconds_are_of(runs: tuple[Path, Path]) -> None:
    together = by_row_and_seed(runs[1])
    cells = [record for record in together.values() if record.cell]
    assert {record.metrics["together"] for record in cells} == {3}
    assert not any("apart" in record.metrics for record in cells)
    for name in {record.name for record in cells}:
        assert len({r.metrics["train_seconds"] for r in cells if r.name == name}) == 1
    baselines = [record for record in together.values() if record.baseline]
    assert [record.metrics["apart"] for record in baselines] == ["it learns by itself"] * 3


def test_only_the_seeds_that_are_missing_are_trained(
    tmp_path: Path, tiny: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["bench", "--attention", "fused", "--pe", "sin", "--phases", "trials", *tiny]
    common += ["--baseline", "none", "--out", str(tmp_path)]
    assert main([*common, "--seed", "1"]) == 0
    assert main([*common, "--seeds", "3", "--together"]) == 0
    assert "trials: 2 to run" in capsys.readouterr().err
    found = {record.seed: record.metrics.get("together") for record in RecordFile(tmp_path).read()}
    assert found == {1: None, 0: 2, 2: 2}
    assert not (tmp_path / "checkpoints").exists()


def test_a_component_that_cannot_be_vmapped_is_trained_seed_by_seed_and_says_why(
    tmp_path: Path, tiny: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "fickle.py"
    file.write_text(FICKLE)
    out = tmp_path / "out"
    arguments = ["--plugin", str(file), "--attention", "fickle", "--pe", "sin", "--seeds", "2"]
    arguments += ["--together", "--phases", "trials", "--baseline", "none", "--out", str(out)]
    assert main(["bench", *arguments, *tiny]) == 0
    assert "seeds 0, 1: one by one: it cannot be vmapped" in capsys.readouterr().err
    for record in RecordFile(out).read():
        assert record.status == "ok"
        assert "data-dependent control flow" in record.metrics["apart"]
        assert "together" not in record.metrics


def test_a_committee_is_one_model_already(
    tmp_path: Path, tiny: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Trained seed by seed, with as many parameters as its members; the table says how many."""
    common = ["bench", "--attention", "fused", "--pe", "sin", "--phases", "trials", *tiny]
    common += ["--baseline", "none", "--seeds", "2"]
    assert main([*common, "--out", str(tmp_path / "one")]) == 0
    capsys.readouterr()
    assert main([*common, "--members", "3", "--together", "--out", str(tmp_path / "three")]) == 0
    told = capsys.readouterr()
    assert "seeds 0, 1: one by one: its members already are one model" in told.err
    assert "tokens, 3 members of each cell;" in told.out
    one, three = (RecordFile(tmp_path / name).read() for name in ("one", "three"))
    assert {r.metrics["params"] for r in three} == {3 * r.metrics["params"] for r in one}
    assert all("--members 3" in record.command for record in three)


def test_failures_end_as_the_records_of_their_own_seeds(tmp_path: Path, tiny: list[str]) -> None:
    arguments = ["--plugin", str(FAILING), "--attention", "raises,exits,hungry,diverges,fused"]
    arguments += ["--pe", "sin", "--seeds", "2", "--together", "--phases", "trials"]
    arguments += ["--baseline", "none", "--memory-limit", "6000", "--out", str(tmp_path)]
    assert main(["bench", *arguments, *tiny]) == 1
    found = {(r.cell["attention"], r.seed): r for r in RecordFile(tmp_path).read()}
    statuses = {
        "raises": ("crashed", "RuntimeError: no such luck (failing.py:"),
        "exits": ("crashed", "the worker exited with status 7"),
        "hungry": ("oom", "out of memory"),
        "diverges": ("diverged", "the loss became nan in epoch 1"),
        "fused": ("ok", ""),
    }
    assert len(found) == 2 * len(statuses)
    for (attention, _), record in found.items():
        status, reason = statuses[attention]
        assert record.status == status
        assert record.reason.startswith(reason)
        assert bool(record.metrics.get("apart")) == (attention != "fused")


def test_seeds_that_diverge_together_end_as_they_do_alone(tmp_path: Path, tiny: list[str]) -> None:
    common = ["bench", "--attention", "fused", "--pe", "sin", "--phases", "trials", "--seeds", "2"]
    common += [*tiny, "--baseline", "none", "--lr", "1e30", "--clip", "0", "--out"]
    assert main([*common, str(tmp_path / "apart")]) == 1
    assert main([*common, str(tmp_path / "together"), "--together"]) == 1
    apart, together = (by_row_and_seed(tmp_path / way) for way in ("apart", "together"))
    for key, record in together.items():
        assert (record.status, record.reason) == (apart[key].status, apart[key].reason)
        assert record.status == "diverged"
        assert "apart" not in record.metrics


def test_a_time_limit_is_that_of_as_many_trials(tmp_path: Path, tiny: list[str]) -> None:
    arguments = ["--plugin", str(FAILING), "--attention", "hangs", "--pe", "sin", "--seeds", "2"]
    arguments += ["--together", "--phases", "trials", "--baseline", "none", "--timeout", "4"]
    assert main(["bench", *arguments, *tiny, "--out", str(tmp_path)]) == 1
    found = {(r.seed, r.status, r.reason) for r in RecordFile(tmp_path).read()}
    reason = "took longer than 8 s, 2 seeds together"
    assert found == {(0, "timeout", reason), (1, "timeout", reason)}


def test_seeds_interrupted_after_each_epoch_end_bit_for_bit_the_same(
    registry: Registry, tmp_path: Path
) -> None:
    training = Training(epochs=3, batch_size=6, dropout=0.2, token_dropout=0.2)
    modules = models(registry, training)

    def fresh() -> EnsembleTrainer:
        return EnsembleTrainer(
            copy.deepcopy(modules),
            split(TEXTS),
            training,
            RUNTIME,
            SEEDS,
            vocab_size=20,
            max_length=SIZES.max_length,
        )

    whole, file = fresh(), tmp_path / "seeds.safetensors"
    expected = [[epoch.loss for epoch in whole.run_epoch()] for _ in range(3)]
    for _ in range(3):
        torch.manual_seed(999)  # another process finds another random state
        trainer = fresh()
        curves = restore(file, trainer)
        for curve, epoch in zip(curves, trainer.run_epoch(), strict=True):
            curve.append(vars(epoch))
        keep(file, trainer, curves)
    assert trainer.finished
    assert [[curve[n]["loss"] for curve in curves] for n in range(3)] == expected
    for name, stack in whole.ensemble.parameters.items():
        assert torch.equal(stack, trainer.ensemble.parameters[name])


def test_a_kill_loses_nothing_that_was_finished(tmp_path: Path, tiny: list[str]) -> None:
    arguments = [*GRID, *tiny, "--together", "--baseline", "none", "--epochs", "30"]
    arguments += ["--out", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-m", "zoo", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    end = time.monotonic() + 120
    while not any((tmp_path / "checkpoints").glob("*.safetensors")):
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    done = zoo(*arguments)
    assert done.returncode == 0, done.stderr
    assert len(by_row_and_seed(tmp_path)) == 6
    assert not (tmp_path / "checkpoints").exists()


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--compile"], "--together and --compile"),
        (["--task", "lm"], "--together has no meaning with --task lm"),
        (["--task", "seq2seq"], "--together has no meaning with --task seq2seq"),
    ],
)
def test_what_together_cannot_go_with_is_refused(
    tmp_path: Path, arguments: list[str], wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "--together", *arguments, "--out", str(tmp_path / "out")]) == 2
    assert wanted in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
