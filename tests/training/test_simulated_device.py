"""A training step and an inference of every part and task, on a CUDA device that is not there."""

import json
import shutil
from typing import Any

import forked
import pytest
import torch

from zoo.registry.loading import load

pytestmark = pytest.mark.parts  # a step of every task and part, in fifteen seconds
# Products in float32 on purpose, inside of bf16: without tensor cores, as TF32 is off there.
WIDE = ("nystrom", "aft", "retention", "gla", "deltanet", "gated-deltanet", "mamba2", "moe")


@pytest.fixture(scope="module", params=["tasks", "parts"])
def steps(request, tmp_path_factory) -> dict[str, dict[str, Any]]:
    """What the step of each case did, by its name; in a process of its own.

    Those with a planted fault are ``fault …``; ``noted`` leaves them out.
    """
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    if not shutil.which("g++"):
        pytest.skip("there is no C++ compiler")
    code = f"import simulated_cuda; simulated_cuda.{request.param}()"
    out = forked.output(code, cwd=tmp_path_factory.mktemp("device"))
    return {step["name"]: step for step in map(json.loads, out.splitlines())}


of_tasks = pytest.mark.parametrize("steps", ["tasks"], indirect=True)
of_parts = pytest.mark.parametrize("steps", ["parts"], indirect=True)


def noted(steps, what: str) -> dict[str, Any]:
    """What was noted of the cases without a planted fault where anything was."""
    return {name: s[what] for name, s in steps.items() if s[what] and "fault" not in name}


def test_no_step_waits_for_the_device(steps):
    assert len(steps) > 8
    assert noted(steps, "waits") == {}


def test_nothing_is_made_on_the_cpu_in_the_middle_of_a_step(steps):
    assert noted(steps, "elsewhere") == noted(steps, "crossed") == {}


def test_products_are_in_bfloat16_but_where_they_are_meant_not_to_be(steps):
    wide = noted(steps, "wide")
    assert {name: products for name, products in wide.items() if name.split()[1] not in WIDE} == {}
    assert not any("float64" in product for products in wide.values() for product in products)


@of_parts
def test_parts_whose_products_are_in_float32_say_so(steps):
    registry = load(selection="zoo-efficient,zoo-modern").registry
    for name in WIDE:
        if f"attention {name}" in steps:
            text = registry.choose("attention", name).component.resolve().__doc__
            assert "float32" in text, f"{name} does not say that its products are"


@of_tasks
def test_planted_faults_are_noticed(steps):
    assert "DataDependent" in steps["fault wait"]["waits"]
    assert "DynamicOutputShape" in steps["fault selection"]["waits"]
    assert steps["fault copy"]["crossed"]
    assert steps["fault width"]["wide"]


@of_tasks
def test_whole_texts_need_no_mask(steps):
    assert set(steps["task lm"]["kernels"]) == {"flash"}
    assert set(steps["packed mlm"]["kernels"]) == {"lengths"}
    assert set(steps["packed seq2seq"]["kernels"]) == {"lengths", "mask"}  # of cross-attention


@of_parts
def test_the_kernel_that_attention_takes(steps):
    """Padding is a mask, and an encoding that biases is a bias."""
    assert set(steps["attention fused"]["kernels"]) == {"mask", "bias"}
    assert set(steps["pe rope"]["kernels"]) == {"mask"}


@of_parts
def test_layers_compute_the_angles_of_rope_once(steps):
    """Each layer adds the rotation of queries and keys, forward and backward, and no more."""
    assert steps["pe rope"]["launches"] - steps["pe none"]["launches"] <= 40
