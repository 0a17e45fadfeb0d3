"""Which device and precision a run uses, and what the machine is."""

from __future__ import annotations

import contextlib
import gc
import os
import platform
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from zoo.config.settings import SLOT, Execution
from zoo.config.sizes import Sizes
from zoo.errors import ZooError

BF16 = 8  # compute capability from which multiplication of bfloat16 and TF32 is not emulated
WINS = 0.9  # of the time in fp32, at most, where bf16 is chosen
MOST_TOKENS, STEPS = 2**15, 10  # of what is timed to choose


@dataclass(frozen=True)
class Runtime:
    """A device and the precision of the arithmetic on it: fp32, tf32 or bf16."""

    device: torch.device
    precision: str

    def autocast(self) -> contextlib.AbstractContextManager[Any]:
        """Run under bf16 autocast where that is the precision."""
        if self.precision == "bf16":
            return torch.autocast(self.device.type, dtype=torch.bfloat16)
        return contextlib.nullcontext()

    def synchronise(self) -> None:
        """Wait until the device has finished all its work."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        elif self.device.type == "mps":
            torch.mps.synchronize()

    def release(self) -> None:
        """Give back GPU memory that nothing uses and torch keeps for what comes."""
        if self.device.type == "cuda":
            gc.collect()  # a trainer is part of a reference cycle
            torch.cuda.empty_cache()


def resolve(execution: Execution) -> Runtime:
    """Resolve ``auto``, and have products in float32 rounded to TF32 where that is asked for alone.

    Torch rounds by default those of convolutions. Jobs that run at once take the GPUs in turn,
    unless a GPU is named. Raises ZooError where the machine has no such device, or that no TF32.
    """
    has = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    name, _, number = execution.device.partition(":")
    precision = execution.precision
    if name == "auto":
        name = next(d for d in ("cuda", "mps", "cpu") if has[d])
    if not has[name]:
        raise ZooError(
            f"--device {name}: torch {torch.__version__} finds no such device here; "
            f"there is: {', '.join(d for d in has if has[d])}"
        )
    count = torch.cuda.device_count() if name == "cuda" else 0
    if number and int(number) >= count:
        gpus = ", ".join(f"cuda:{gpu}" for gpu in range(count))
        raise ZooError(f"--device {execution.device}: the GPUs that torch finds here are {gpus}")
    if number or count > 1:
        index = int(number) if number else int(os.environ.get(SLOT, "0")) % count
        torch.cuda.set_device(index)  # for whatever asks for the memory or the name of a card
        name = f"cuda:{index}"
    device = torch.device(name)
    on_gpu = device.type == "cuda"
    tensor_cores = on_gpu and torch.cuda.get_device_capability(device)[0] >= BF16
    if precision == "tf32" and not tensor_cores:
        raise ZooError(f"precision=tf32: device {name} has no TF32; fp32 and bf16 run there")
    if on_gpu:
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
    if precision == "auto":
        precision = "bf16" if tensor_cores else "fp32"
    return Runtime(device, precision)


def faster_precision(device: torch.device, sizes: Sizes, batch_size: int) -> str:
    """``bf16`` where it saves a tenth of the time of a step and more, else ``fp32``.

    Timed on the networks of as many layers, as wide as the run's, with the tokens of its batches:
    in small models the casts of autocast cost more than they save.
    """
    layers = list[nn.Module]()
    for _ in range(sizes.layers):
        networks = (
            nn.Linear(sizes.dim, sizes.ffn_dim),
            nn.GELU(),
            nn.Linear(sizes.ffn_dim, sizes.dim),
        )
        layers += [nn.LayerNorm(sizes.dim), *networks]
    model = nn.Sequential(*layers).to(device)
    tokens = min(batch_size * sizes.max_length, MOST_TOKENS)
    x = torch.randn(tokens, sizes.dim, device=device)
    fp32, bf16 = (_step_seconds(Runtime(device, name), model, x) for name in ("fp32", "bf16"))
    return "bf16" if bf16 <= WINS * fp32 else "fp32"


def _step_seconds(runtime: Runtime, model: nn.Module, x: Tensor) -> float:
    """The least of three measurements of a forward and backward pass; one before them is left."""
    seconds = list[float]()
    for _ in range(4):
        runtime.synchronise()
        start = time.perf_counter()
        for _ in range(STEPS):
            with runtime.autocast():
                loss = model(x).sum()
            loss.backward()
        runtime.synchronise()
        seconds.append((time.perf_counter() - start) / STEPS)
    return min(seconds[1:])


def describe(runtime: Runtime) -> dict[str, Any]:
    """The versions and hardware that results depend on, for a record's environment."""
    on_gpu = runtime.device.type == "cuda"
    return {
        "python": platform.python_version(),
        "torch": str(torch.__version__),  # TorchVersion would have whoever receives it import torch
        "platform": f"{platform.system()} {platform.machine()}",
        "device": runtime.device.type,
        "device_name": torch.cuda.get_device_name(runtime.device) if on_gpu else _cpu_name(),
        "driver": _nvidia_driver() if on_gpu else "",
        "cuda": torch.version.cuda or "",
        "precision": runtime.precision,
        "threads": torch.get_num_threads(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0,
        **(_gpu(runtime.device) if on_gpu else {}),
    }


def _gpu(device: torch.device) -> dict[str, Any]:
    """What the numbers of a GPU depend on besides its name and driver."""
    properties = torch.cuda.get_device_properties(device)
    variables = "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"
    return {
        "gpu": device.index or 0,
        "capability": f"{properties.major}.{properties.minor}",
        "gpu_memory_mib": properties.total_memory // 2**20,
        "cudnn": torch.backends.cudnn.version() or 0,
        "tf32": torch.backends.cuda.matmul.allow_tf32,
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "allocator": " ".join(
            [torch.cuda.get_allocator_backend(), *filter(None, map(os.environ.get, variables))]
        ),
    }


def _cpu_name() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _nvidia_driver() -> str:
    with contextlib.suppress(OSError):
        first = Path("/proc/driver/nvidia/version").read_text().splitlines()[0]
        return next((word for word in first.split() if word[:1].isdigit()), first)
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):  # WSL2 has no such file
        out = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout
        return out.partition("\n")[0].strip()
    return ""
