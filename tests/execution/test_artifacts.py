"""The directory of unfinished jobs, which several jobs use at once."""

import threading

import torch
from small_runs import cell

from zoo.config.settings import Execution, Training
from zoo.config.sizes import Sizes
from zoo.execution.base import Artifacts, JobSetup, TrainJob
from zoo.training.checkpoint import write_tensors

SETUP = JobSetup("classify", {}, Sizes(), Training(), Execution())


def job(key: str) -> TrainJob:
    return TrainJob(SETUP, "a cell", key, model=cell())


def test_jobs_that_end_never_disturb_one_that_is_about_to_write(tmp_path):
    """The end of one job once removed the folder that another had just made."""
    failures: list[Exception] = []
    written: list[int] = []

    def write_and_end(key: str) -> None:
        artifacts = Artifacts(tmp_path)
        for number in range(400):
            try:
                write_tensors(artifacts.of(job(key)) / "checkpoint.pt", TENSORS)
                written.append(number)
            except Exception as error:  # noqa: BLE001 - reported below
                failures.append(error)
            artifacts.remove(job(key))

    writers = [threading.Thread(target=write_and_end, args=(key,)) for key in ("a", "b", "c")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert failures == []
    assert len(written) == 1200


TENSORS = {"weight": torch.zeros(2)}


def test_what_unfinished_jobs_left_stays_until_they_end(tmp_path):
    with Artifacts(tmp_path) as artifacts:
        (artifacts.of(job("a")) / "checkpoint.pt").write_bytes(b"unfinished")
        artifacts.of(job("b"))
        artifacts.remove(job("b"))
    assert [path.name for path in (tmp_path / "unfinished").iterdir()] == ["a"]
    with Artifacts(tmp_path) as artifacts:
        artifacts.remove(job("a"))
    assert not (tmp_path / "unfinished").exists()
