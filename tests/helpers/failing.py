"""Attentions that fail, each in its own way; registered by ``--plugin``."""

import ctypes
import os
from pathlib import Path

import torch

from zoo import hookimpl
from zoo.components.attention.fused import Fused


class Raises(Fused):
    def attend(self, q, k, v, mask, bias, **kernel):
        raise RuntimeError("no such luck")


class Interrupts(Fused):
    """As Ctrl-C does."""

    def attend(self, q, k, v, mask, bias, **kernel):
        raise KeyboardInterrupt


class Exits(Fused):
    def attend(self, q, k, v, mask, bias, **kernel):
        print("last words", flush=True)
        os._exit(7)


class ExitsLater(Fused):
    """In a turn: to prepare a model that is timed takes fewer than half of these passes."""

    passes = 0

    def attend(self, q, k, v, mask, bias, **kernel):
        ExitsLater.passes += 1
        if ExitsLater.passes > 60:
            os._exit(7)
        return super().attend(q, k, v, mask, bias, **kernel)


class Segfaults(Fused):
    def attend(self, q, k, v, mask, bias, **kernel):
        ctypes.string_at(0)


class Hangs(Fused):
    """In native code, where no other thread of the process has a turn."""

    def attend(self, q, k, v, mask, bias, **kernel):
        ctypes.PyDLL(None).sleep(1000)


class Hungry(Fused):
    """Asks for more memory than any machine has."""

    def attend(self, q, k, v, mask, bias, **kernel):
        self.hoard = torch.ones(2**50)
        return super().attend(q, k, v, mask, bias, **kernel)


class HungryAtFirst(Fused):
    """Out of memory once, as where another process holds it; the file notes that it has been."""

    def attend(self, q, k, v, mask, bias, **kernel):
        once = Path(os.environ["HUNGRY_AT_FIRST"])
        if not once.exists():
            once.touch()
            raise MemoryError
        return super().attend(q, k, v, mask, bias, **kernel)


class Diverges(Fused):
    def attend(self, q, k, v, mask, bias, **kernel):
        return super().attend(q, k, v, mask, bias, **kernel) * float("nan")


@hookimpl
def zoo_register(register):
    able = ("rotate", "bias", "padding", "causal", "cross", "cache")
    every = (
        Raises,
        Interrupts,
        Exits,
        ExitsLater,
        Segfaults,
        Hangs,
        Hungry,
        HungryAtFirst,
        Diverges,
    )
    for factory in every:
        register("attention", factory.__name__.lower(), factory, summary="bad", capabilities=able)
