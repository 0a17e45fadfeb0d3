"""Trackers: they show a run in an experiment tracker while it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zoo.registry.hookspecs import hookimpl

if TYPE_CHECKING:
    from zoo.registry import Register


@hookimpl
def zoo_register(register: Register) -> None:
    """Register the built-in trackers; the package of each is imported when it is chosen."""
    here = "zoo.tracking"
    register(
        "tracker",
        "tensorboard",
        f"{here}.tensorboard:TensorBoard",
        summary="event files in the folder tensorboard of the run's directory",
        source="https://www.tensorflow.org/tensorboard",
    )
    register(
        "tracker",
        "mlflow",
        f"{here}.mlflow:MLflow",
        summary="runs of MLflow, on its server or in mlflow.db of this folder",
        source="https://mlflow.org",
        parameters={"experiment": "encoder-zoo"},
    )
    register(
        "tracker",
        "trackio",
        f"{here}.trackio:Trackio",
        summary="runs of Trackio, in its database on this machine or in a Space",
        source="https://huggingface.co/docs/trackio",
        parameters={"project": "encoder-zoo", "space": ""},
    )
    register(
        "tracker",
        "wandb",
        f"{here}.wandb:WeightsAndBiases",
        summary="runs of Weights & Biases, on its server or offline",
        source="https://docs.wandb.ai",
        parameters={"project": "encoder-zoo"},
    )
