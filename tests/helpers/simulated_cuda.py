"""A CUDA device that is not there, for the rest of a process.

Torch's fake tensors have a device and no numbers: what is made on the CPU in the middle of a
model, what brings a number to the host and what changes its type shows without a GPU. A build of
torch without CUDA lacks what autograd asks a device for; thirty lines of C++ pretend to be that.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import json
import os
import subprocess
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch._subclasses.fake_tensor as fake
from token_splits import task_split
from torch import nn
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._python_dispatch import TorchDispatchMode

from zoo.config.settings import Training
from zoo.config.sizes import Sizes
from zoo.models.stack import Stack
from zoo.registry import AXES
from zoo.registry.cell import Cell
from zoo.registry.loading import load
from zoo.tasks.base import TaskSetup, find_task
from zoo.training.device import Runtime
from zoo.training.trainer import Trainer

SOURCE = r"""
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
using c10::Device, c10::DeviceIndex, c10::DeviceType, c10::Stream;
struct Guard final : c10::impl::NoOpDeviceGuardImpl<DeviceType::CUDA> {
  Device getDevice() const override { return {DeviceType::CUDA, 0}; }
  Device exchangeDevice(Device) const override { return getDevice(); }
  Stream getStream(Device d) const noexcept override { return Stream(Stream::DEFAULT, d); }
  Stream exchangeStream(Stream stream) const noexcept override { return stream; }
  void record(void**, const Stream&, const DeviceIndex, const c10::EventFlag) const override {}
  void block(void*, const Stream&) const override {}
  void destroyEvent(void*, const DeviceIndex) const noexcept override {}
};
struct Hooks final : at::CUDAHooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasCUDA() const override { return true; }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
};
extern "C" void pretend() {
  static Guard guard;
  static Hooks hooks;  // the table of their functions replaces that of a build without CUDA
  c10::impl::device_guard_impl_registry[1].store(&guard);
  *(void**)&at::detail::getCUDAHooks() = *(void**)&hooks;
}
"""
CUDA = torch.device("cuda", 0)
SIZES = Sizes(dim=32, layers=2, heads=4, ffn_dim=64, max_length=24, vocab_size=50)
PLAIN = dict(zip(AXES, ("fused", "none", "layer", "gelu", "pre", "mean"), strict=True))
WAITS = fake.DataDependentOutputException, fake.DynamicOutputShapeException
FAULTS: dict[str, Callable[[Any], Any]] = {
    "fault wait": lambda x: x * x.sum().item(),
    "fault selection": lambda x: x + x[x > 0].sum(),
    "fault copy": lambda x: x + torch.arange(float(x.shape[-1])).to(x.device),
    "fault width": lambda x: x + x.double().mean(),
}
UNKNOWN = ("attention gru",)  # to fake tensors: the recurrence of cuDNN
PRODUCTS = ("mm", "bmm", "addmm", "baddbmm")
kernels: Counter[str] = Counter()  # that attention could take


def pretend() -> None:
    """Have torch believe in the device. What is compiled comes into the working directory."""
    warnings.simplefilter("ignore")
    home = Path(torch.__file__).parent
    Path("pretend.cpp").write_text(SOURCE)
    words = ["g++", "-std=c++20", "-shared", "-fPIC", "-w", f"-I{home}/include", "pretend.cpp"]
    libraries = [f"-L{home}/lib", "-lc10", "-ltorch_cpu"]
    subprocess.run([*words, "-o", "pretend.so", *libraries], check=True)
    ctypes.CDLL("./pretend.so").pretend()
    fake.init_gpu_context = lambda device: None  # type: ignore[assignment]
    torch.cuda.amp.common.amp_definitely_not_available = lambda: False
    torch.cuda.is_bf16_supported = lambda *_: True
    torch.nn.functional.scaled_dot_product_attention = attention
    torch.Tensor.pin_memory = lambda self: self  # type: ignore[method-assign, assignment]


def attention(
    q: Any, k: Any, v: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False
) -> Any:
    """In place of torch's, which would here be written out in float32: its types and devices."""
    tensors = (
        (q, k, v) if attn_mask is None or attn_mask.dtype == torch.bool else (q, k, v, attn_mask)
    )
    low = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else q.dtype
    q, k, v, *masks = (x.to(low) for x in tensors)  # as torch does for this function
    mask = next(iter(masks), attn_mask)
    assert q.dtype == k.dtype == v.dtype, (q.dtype, k.dtype, v.dtype)
    if q.is_nested:
        kernels["lengths"] += 1
        return q + k + v
    kind, added = "flash", 0
    if mask is not None:
        assert mask.dtype in (torch.bool, q.dtype), mask.dtype
        kind, added = "mask" if mask.dtype == torch.bool else "bias", mask.to(q.dtype).sum()
    kernels[kind] += 1
    return q.sum(-1, keepdim=True) + (k.sum((-1, -2)) + added)[..., None, None] + v.mean(-2, True)


class Watched(TorchDispatchMode):
    """What a step does: kernels launched, casts, and by name copies and wide products."""

    def __init__(self) -> None:
        super().__init__()
        self.launches = self.casts = 0
        self.crossed, self.wide = Counter[str](), Counter[str]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        leaves = torch.utils._pytree.tree_leaves((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        name = func.overloadpacket.__name__
        self.launches += func.namespace == "aten" and not func.is_view
        if isinstance(out, torch.Tensor) and not name.startswith("_nested"):
            full = [x for x in (*tensors, out) if x.dim() and (x.is_nested or x.numel())]
            devices = {x.device.type for x in full}
            moved = name == "lift_fresh" or (kwargs or {}).get("non_blocking")  # without a wait
            if not devices <= {"cuda", "meta"} and not moved:  # a meta tensor has no numbers
                self.crossed[f"{name} {'+'.join(sorted(devices))}"] += 1
            self.casts += name == "_to_copy" and tensors[0].dtype != out.dtype
            product = name in PRODUCTS and out.dtype == torch.float32
            if product or out.dtype == torch.float64:
                self.wide[f"{name} {out.dtype}"] += 1
        return out


def cells() -> Iterator[tuple[str, Cell]]:
    """A cell for every part; attentions with encodings in turns that use what they can."""
    registry = load().registry
    plain = Cell.parse(registry, PLAIN)
    for axis in AXES:
        for label in registry.labels(axis):
            choice = registry.choose(axis, label)
            changed = {axis: (choice,)}
            if axis == "attention":
                pes = [pe for pe, can in (("rope", "rotate"), ("alibi", "bias")) if choice.can(can)]
                changed["pe"] = registry.layers("pe", "/".join(pes) or "none")
            cell = dataclasses.replace(plain, axes={**plain.axes, **changed})
            if cell.refusal(SIZES, {}) is None and f"{axis} {label}" not in UNKNOWN:
                yield f"{axis} {label}", cell


def one_step(name: str, cell: Cell, fault: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    """Batches, forward, loss, backward, clipping and AdamW, then an inference, in bf16.

    fault: what is wrongly done to the output of the pool.
    """
    task = find_task(load().registry, name)
    training = Training(batch_size=8, dropout=0.1, attention_dropout=0.1)
    classify = {"token_deletion": 0.1, "class_weight": "1,2,3"}
    options = task.options(**(classify if name == "classify" else {}))
    setup = TaskSetup(task, options, SIZES, training, SIZES.vocab_size, ["a", "b", "c"])
    model, watched = task.build(setup, cell, 0), Watched()
    if fault is not None:
        pool, model.pool = model.pool, nn.Identity()
        model.pool.forward, model.pool.reads = lambda *args: fault(pool(*args)), None
    kernels.clear()
    report: dict[str, Any] = {"waits": ""}
    shapes = ShapeEnv(allow_scalar_outputs=False, allow_dynamic_output_shape_ops=False)
    with fake.FakeTensorMode(allow_non_fake_inputs=True, shape_env=shapes):
        split = task.full_length_split(setup, 8, CUDA) if name == "lm" else task_split(name, CUDA)
        loss, runtime = functools.partial(task.loss, setup), Runtime(CUDA, "bf16")
        trainer = Trainer(model.to(CUDA), split, loss, training, runtime, seed=0)
        batch = next(iter(split.shuffled(8, 0, 0)))
        model.train()
        try:
            with watched:
                trainer.train_step(batch)
            model.eval()
            with torch.inference_mode(), runtime.autocast():
                task.forward(model, batch)
        except WAITS as error:
            report["waits"] = f"{type(error).__name__}: {error}"
        report["elsewhere"] = [n for n, p in model.named_parameters() if p.device != CUDA]
    seen = {name: getattr(watched, name) for name in ("launches", "casts", "crossed", "wide")}
    return report | seen | {"kernels": dict(kernels)}


def tasks() -> None:
    """Print a step of every task, and one with each fault, as lines of JSON."""
    pretend()
    plain = Cell.parse(load().registry, {**PLAIN, "pe": "rope"})
    for task in ("classify", "tag", "mlm", "lm", "seq2seq"):
        print(json.dumps({"name": f"task {task}", **one_step(task, plain)}))
    Stack.packs = True
    for task in ("mlm", "seq2seq"):
        print(json.dumps({"name": f"packed {task}", **one_step(task, plain)}))
    Stack.packs = False
    for name, fault in FAULTS.items():
        print(json.dumps({"name": name, **one_step("classify", plain, fault)}))


def parts() -> None:
    """Print a step with every part that is installed."""
    os.environ.pop("ZOO_PLUGINS", None)  # of other tests
    pretend()
    for name, cell in cells():
        print(json.dumps({"name": name, **one_step("classify", cell)}))
