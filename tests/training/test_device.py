"""Which precision a device gets, what a record says of a GPU, and what only a GPU can show."""

import functools
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from token_splits import split

from zoo.config.settings import Execution, Training, machine_of
from zoo.config.sizes import Sizes
from zoo.errors import ZooError
from zoo.execution.base import Ended, JobSetup, Result
from zoo.execution.local import LocalExecutor
from zoo.measure.memory import peaks_of
from zoo.models.build import build_classifier
from zoo.registry.cell import Cell
from zoo.sweep.prepare import inspect
from zoo.tasks.base import TaskSetup
from zoo.tasks.classify import Classify, ClassifyOptions
from zoo.training import checkpoint, device
from zoo.training.device import Runtime, describe, faster_precision, resolve
from zoo.training.trainer import Trainer

SIZES = Sizes(dim=16, layers=2, heads=2, ffn_dim=32, max_length=24, vocab_size=50)


@pytest.fixture
def card(monkeypatch):
    """A card of this compute capability, as far as torch's answers go."""

    def have(major: int, minor: int = 0) -> None:
        about = SimpleNamespace(major=major, minor=minor, total_memory=80 * 2**30)
        for name, value in {
            "is_available": True,
            "device_count": 1,
            "get_device_capability": (major, minor),
            "get_device_name": "Card",
            "get_device_properties": about,
            "get_allocator_backend": "native",
        }.items():
            monkeypatch.setattr(torch.cuda, name, lambda *_, value=value: value)

    backends = torch.backends.cuda.matmul, torch.backends.cudnn
    before = [backend.allow_tf32 for backend in backends]
    yield have
    for backend, value in zip(backends, before, strict=True):
        backend.allow_tf32 = value


def test_bf16_is_chosen_where_a_card_has_it_and_tf32_only_where_it_is_asked_for(card):
    cases = [(7, "auto", "fp32"), (8, "auto", "bf16"), (9, "fp32", "fp32"), (8, "tf32", "tf32")]
    for capability, asked, precision in cases:
        card(capability)
        assert resolve(Execution(device="cuda", precision=asked)).precision == precision
        rounded = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
        assert rounded == ((precision == "tf32"),) * 2
    card(7, 5)
    for name in ("cpu", "cuda"):
        with pytest.raises(ZooError, match=f"device {name} has no TF32"):
            resolve(Execution(device=name, precision="tf32"))


def test_jobs_that_run_at_once_take_the_gpus_in_turn(card, monkeypatch):
    card(9)
    chosen = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    for slot in ("0", "1", "2"):
        monkeypatch.setenv("ZOO_SLOT", slot)
        assert resolve(Execution(device="cuda")).device.index == int(slot) % 2
    assert chosen == [0, 1, 0]


def test_a_gpu_that_is_named_is_taken_by_all_jobs_and_in_the_record(card, monkeypatch):
    card(9)
    chosen = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    for slot in ("0", "1", "2"):
        monkeypatch.setenv("ZOO_SLOT", slot)
        runtime = resolve(Execution(device="cuda:1"))
        assert (runtime.device, describe(runtime)["gpu"]) == (torch.device("cuda", 1), 1)
        assert describe(runtime)["device"] == "cuda"  # timings of like GPUs are ranked together
    assert chosen == [1, 1, 1]
    with pytest.raises(ZooError, match=r"--device cuda:2: .* are cuda:0, cuda:1$"):
        resolve(Execution(device="cuda:2"))


def test_jobs_get_the_gpu_that_was_named_and_what_auto_is():
    about = {"device": "cuda", "precision": "bf16"}

    class Machine(LocalExecutor):
        def run(self, jobs, **_):
            yield Ended(jobs[0], Result(environment=about))

    def devices(asked):
        setup = JobSetup("classify", {}, SIZES, Training(), Execution(device=asked))
        _, resolved = inspect(Machine(), setup, 1, None)
        return resolved.execution.device, resolved.execution.precision

    assert devices("auto") == ("cuda", "bf16")
    assert devices("cuda:1") == ("cuda:1", "bf16")


@pytest.mark.parametrize(("bf16", "precision"), [(0.5, "bf16"), (0.95, "fp32"), (2.0, "fp32")])
def test_bf16_must_save_a_tenth_of_the_time(monkeypatch, bf16, precision):
    """The clock runs so much slower while bf16 is timed."""
    times, own = {"fp32": 1.0, "bf16": bf16}, Runtime.autocast
    monkeypatch.setattr(device, "STEPS", 1)
    now = [0.0]

    def autocast(runtime):
        now[0] += times[runtime.precision]
        return own(runtime)

    monkeypatch.setattr(Runtime, "autocast", autocast)
    monkeypatch.setattr(device.time, "perf_counter", lambda: now[0])
    assert faster_precision(torch.device("cpu"), SIZES, batch_size=2) == precision


def test_a_record_says_what_a_cards_numbers_depend_on(card, monkeypatch):
    card(8, 6)
    monkeypatch.setenv("PYTORCH_ALLOC_CONF", "expandable_segments:True")
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    about = describe(resolve(Execution(device="cuda", precision="tf32")))
    assert (about["capability"], about["gpu_memory_mib"], about["tf32"]) == ("8.6", 81920, True)
    assert about["allocator"] == "native expandable_segments:True"
    assert {"cudnn", "deterministic", "driver"} <= set(about)
    # Timings of two versions of CUDA are not ranked together; older records lack the field.
    assert machine_of(about) != machine_of({**about, "cuda": "12.8"})
    assert machine_of({"device": "cpu"}) == machine_of({"device": "cpu", "cuda": ""})


def test_the_driver_of_wsl_is_asked_of_nvidia_smi(tmp_path, monkeypatch):
    """There is no /proc/driver/nvidia/version."""
    monkeypatch.setattr(device, "Path", lambda _: tmp_path / "none")
    assert device._nvidia_driver() == ""
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho 581.29\necho 581.29\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert device._nvidia_driver() == "581.29"


def test_the_peak_of_a_card_has_neither_the_data_nor_the_libraries_workspace(monkeypatch):
    held, peak = [0], [0]

    def hold(mib: int) -> None:
        held[0] += mib * 2**20
        peak[0] = max(held[0], peak[0])

    def exercise(phase: str) -> None:
        hold(30)
        hold(-30)

    for name, answer in {
        "memory_allocated": lambda *_: held[0],
        "max_memory_allocated": lambda *_: peak[0],
        "reset_peak_memory_stats": lambda *_: peak.__setitem__(0, held[0]),
        "empty_cache": lambda: None,
    }.items():
        monkeypatch.setattr(torch.cuda, name, answer)
    peaks = peaks_of(
        torch.device("cuda"),
        first=lambda: hold(8),
        load=lambda: hold(100),
        set_up=lambda data: hold(5) or exercise,
    )
    assert [peaks[phase]["peak_mib"] for phase in ("inference", "training")] == [35, 35]
    assert "less what" in peaks["training"]["how"]


@pytest.mark.gpu
@pytest.mark.parametrize("attention", ["fused", "naive"])
def test_no_step_waits_and_a_checkpoint_takes_no_memory_of_the_card(registry, attention, tmp_path):
    names = {"attention": attention, "pe": "rope", "norm": "layer", "ffn": "gelu"}
    cell = Cell.parse(registry, {**names, "block": "pre", "pool": "mean"})
    training, options = Training(batch_size=8), ClassifyOptions(token_deletion=0.1)
    setup = TaskSetup(Classify(), options, SIZES, training, SIZES.vocab_size, ["a", "b", "c"])
    model = build_classifier(cell, SIZES, vocab_size=50, classes=3, seed=0, dropout=0.1)
    runtime = Runtime(torch.device("cuda"), "bf16")
    texts = split([5 + 3 * i % 19 for i in range(64)], runtime.device)
    loss = functools.partial(Classify().loss, setup)
    trainer = Trainer(model.to("cuda"), texts, loss, training, runtime, seed=0)
    trainer.model.train()
    first, *others = texts.shuffled(8, 0, epoch=0)
    trainer.train_step(first)  # sets things up
    torch.cuda.set_sync_debug_mode("error")
    try:
        for batch in others:
            trainer.train_step(batch)
        for _ in texts.shuffled(8, 0, epoch=1):
            pass
    finally:
        torch.cuda.set_sync_debug_mode("default")
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.max_memory_allocated()
    checkpoint.save(Path(tmp_path / "state"), trainer, [])
    assert checkpoint.restore(Path(tmp_path / "state"), trainer) == []
    assert torch.cuda.max_memory_allocated() == before
