"""A wheel brings a task, a metric and an executor; every command works with them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox import SitePackages, run_zoo
from wheels import write_wheel

from zoo.sweep.records import RecordFile

SOURCE = Path(__file__).parent / "counting" / "zoo_counting.py"
SMALL = (
    "--task count --on logged --attention fused --set dim=16,heads=2,ffn_dim=16,layers=1 "
    "--threads 1 --epochs 12 --lr 0.01 --word cup"
).split()
METRIC = "mean_absolute_error"


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[SitePackages]:
    """A place where the wheel is installed."""
    folder = tmp_path_factory.mktemp("counting")
    wheel = write_wheel(
        folder,
        "zoo-counting",
        {"zoo_counting.py": SOURCE.read_text()},
        entry_points="[zoo]\ncounting = zoo_counting\n",
    )
    site = SitePackages(folder / "site-packages")
    site.install(wheel)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZOO_CACHE", str(folder / "cache"))
        patch.setenv("ZOO_COUNTING_LOG", str(folder / "executor.log"))
        yield site


def executed(folder: Path) -> list[str]:
    """The kinds of the jobs that its executor has run."""
    log = folder / "executor.log"
    return [line.split()[0] for line in log.read_text().splitlines()] if log.exists() else []


def ok(site: SitePackages, *arguments: str) -> str:
    done = site.zoo(*arguments, plugins="zoo-counting")
    assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def benched(site) -> tuple[Path, list[str]]:
    """Three seeds of a cell and what it costs: the directory, and what the executor ran."""
    directory, before = site.folder.parent / "run", len(executed(site.folder.parent))
    request = ["--pe", "none", "--set", "blocks=1", "--seeds", "3", "--out", str(directory)]
    ok(site, "bench", *SMALL, *request)
    return directory, executed(directory.parent)[before:]


def test_the_wheel_is_listed_and_passes_its_checks(site):
    # In a process of its own: nothing but the installed wheel tells it of them.
    listed = site.run("-m", "zoo", "list", "--json", plugins="zoo-counting")
    listed_parts = {(c["kind"], c["name"]) for c in json.loads(listed.stdout)}
    assert {("task", "count"), ("metric", METRIC), ("executor", "logged")} <= listed_parts
    names = ["task/count", f"metric/{METRIC}", "executor/logged"]
    results = json.loads(ok(site, "check", *names, "--json"))["results"]
    for name in names:
        statuses = [r["status"] for r in results if r["component"] == name]
        assert "passed" in statuses, name
        assert "failed" not in statuses, name


def test_bench_trains_it_on_its_own_executor(benched):
    directory, jobs = benched
    records = RecordFile(directory).read()
    trained = [r for r in records if r.kind == "train"]
    assert {(r.status, r.seed) for r in trained} == {("ok", 0), ("ok", 1), ("ok", 2)}
    assert {r.status for r in records if r.kind == "cost"} == {"ok"}
    # The label is the word's count, 0 to 3: guessing the mean is wrong by 1 on average.
    assert all(r.metrics[METRIC] < 0.6 for r in trained)
    assert all(r.config["task_options"] == {"word": "cup"} for r in records)
    assert "--word cup" in trained[0].command
    assert {r.metric_descriptions[0].unit for r in records} == {"words"}
    assert jobs == ["inspect", *["train"] * 3, "cost"]


def test_report_reads_it_where_the_plugin_is_missing(benched):
    run = benched[0]
    done = run_zoo("report", str(run), "--tables")
    assert done.returncode == 0, done.stderr
    table = (run / "table.csv").read_text()
    assert f"{METRIC}_mean" in table.splitlines()[0]
    assert "error" in (run / "table.md").read_text()


def test_train_and_predict(site):
    model, before = site.folder.parent / "model", len(executed(site.folder.parent))
    printed = ok(site, "train", *SMALL, "--pe", "none", "--save", str(model))
    assert "error 0." in printed
    assert executed(site.folder.parent)[before:] == ["inspect", "train"]
    texts = ["the cup of the cup and a cup", "it was said to the of and"]
    lines = ok(site, "predict", str(model), "--json", *texts).splitlines()
    many, none = (float(json.loads(line)["label"]) for line in lines)
    assert many > none + 1
    refused = site.zoo("generate", str(model), "--prompt", "a", plugins="zoo-counting")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    assert "a counter" in refused.stderr


def test_its_options_belong_to_it(site):
    assert "--word" in ok(site, "bench", "--help")
    other = site.zoo("bench", "--word", "cup", "--plan", plugins="zoo-counting")
    assert other.returncode == 2
    assert "--word is an option of --task count" in other.stderr
