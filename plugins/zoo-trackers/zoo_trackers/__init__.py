"""Trackers for ``--track``: they show a run in an experiment tracker while it goes on."""

from __future__ import annotations

from zoo.registry import Register
from zoo.registry.declarations import hookimpl

requires_zoo = ">=0.2"


@hookimpl
def zoo_register(register: Register) -> None:
    """Register the trackers; the library of each is imported when it is chosen."""
    register(
        "tracker",
        "tensorboard",
        "zoo_trackers.tensorboard:TensorBoard",
        summary="event files in the folder tensorboard of the run's directory",
        source="https://www.tensorflow.org/tensorboard",
    )
    register(
        "tracker",
        "mlflow",
        "zoo_trackers.mlflow:MLflow",
        summary="runs of MLflow, on its server or in mlflow.db of this folder",
        source="https://mlflow.org",
        parameters={"experiment": "encoder-zoo"},
    )
    register(
        "tracker",
        "trackio",
        "zoo_trackers.trackio:Trackio",
        summary="runs of Trackio, in its database on this machine or in a Space",
        source="https://huggingface.co/docs/trackio",
        parameters={"project": "encoder-zoo", "space": ""},
    )
    register(
        "tracker",
        "wandb",
        "zoo_trackers.wandb:WeightsAndBiases",
        summary="runs of Weights & Biases, on its server or offline",
        source="https://docs.wandb.ai",
        parameters={"project": "encoder-zoo"},
    )
