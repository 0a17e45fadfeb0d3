"""``--against``: rows that were trained elsewhere stand beside a run's own, and are not trained."""

import json
import lzma

import pytest

import zoo
from zoo.errors import ZooError
from zoo.sweep import against
from zoo.sweep.progress import Progress
from zoo.sweep.records import read_run

ROPE, NONE = (f"fused+{pe}+layer+gelu+pre+mean" for pe in ("rope", "none"))


class Notices(Progress):
    """Keeps what is said."""

    def __init__(self):
        self.said = []

    def notice(self, text):
        self.said.append(text)


@pytest.fixture(scope="module")
def bench(symbols):
    def run(out, **options):
        notices = Notices()
        options = {"data": "first-symbol", "plugins": symbols, "on": "inline", **options}
        return zoo.bench(out=out, progress=notices, **options), notices.said

    return run


@pytest.fixture
def publish(streamed, tmp_path, monkeypatch):
    """Have these records, by default the first row of the run, travel with the package."""

    def put(records=None):
        records = read_run(streamed.directory) if records is None else records
        kept = [record for record in records if record.cell["pe"] == "rope"]
        lines = "".join(json.dumps(record.model_dump()) + "\n" for record in kept)
        file = tmp_path / "published.jsonl.xz"
        file.write_bytes(lzma.compress(lines.encode()))
        monkeypatch.setattr(against, "CARRIED", file)

    put()
    return put


def test_the_table_is_that_of_one_run_with_both_rows(streamed, bench, publish, tmp_path):
    result, _ = bench(tmp_path / "out", pe="none", against="published")
    assert result.details.lines == streamed.details.lines
    assert result.details.table.texts == streamed.details.table.texts
    assert [r.cell["pe"] for r in read_run(result.directory)] == ["none"] * 4


def test_a_run_is_another_source_and_the_records_stay_its_own(streamed, bench, tmp_path):
    theirs = (streamed.directory / "records.jsonl").read_bytes()
    out = tmp_path / "out"
    result, said = bench(out, pe="sin", seeds=1, against=streamed.directory)
    assert [row.cell["pe"] for row in result.details.recorded_rows] == ["rope", "none", "sin"]
    assert "Not trained in this run: rope and none." in " ".join(result.details.notes)
    assert (streamed.directory / "records.jsonl").read_bytes() == theirs
    mine = (out / "records.jsonl").read_bytes()
    again, said = bench(out, pe="sin", seeds=1, against=streamed.directory)
    assert "train: 2 there already" in said
    assert (out / "records.jsonl").read_bytes() == mine
    assert again.details.lines == result.details.lines


def test_pairs_are_of_common_seeds_and_costs_of_this_machine(bench, publish, tmp_path):
    costs = {"phases": "train,cost", "blocks": 1}
    result, _ = bench(tmp_path / "out", pe="none", seeds=1, against="published", **costs)
    speeds = result.table["train_tokens_per_s"].notna()
    assert (speeds[ROPE], speeds[NONE]) == (False, True)
    assert [(n, row.runs) for n, row in result.details.learning.items()] == [(ROPE, 2), (NONE, 1)]
    assert "with 1 to 2 seeds" in " ".join(result.details.notes)


def test_rows_whose_code_differs_here_are_stale(bench, publish, streamed, tmp_path):
    records = read_run(streamed.directory)
    stale = [
        r.model_copy(update={"code": r.code | {"training/trainer.py": "0" * 8}}) for r in records
    ]
    publish(stale)
    result, _ = bench(tmp_path / "out", pe="none", seeds=1, against="published")
    assert "Not trained in this run: rope (stale)." in result.details.notes


def test_data_without_fitting_rows_stand_alone_and_the_setting_is_named(bench, publish, tmp_path):
    data = "first-symbol,first-symbol(train=1600)"
    result, said = bench(tmp_path / "out", pe="none", seeds=1, data=data, against="published")
    assert any(
        "first-symbol(train=1600) stands alone: rows there have other texts" in s for s in said
    )
    assert [len(run.learning) for run in result.data_sets.values()] == [2, 1]
    texts = dict(zip(result.details.heads, zip(*result.details.texts, strict=True), strict=True))
    assert texts["row"][:2] == ("rope", "none (yours)")
    assert texts["first-symbol(train=1600)"][0] == ""
    assert any(line.startswith("Over 1 data set none ") for line in result.details.answer)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": 0.003}, "lr=0.003,0.01, not one value of each setting"),
        ({"ffn_dim": 32}, "ffn_dim=64, not 32"),
        ({"evaluate_every": 320}, "evaluate_every=160, not 320"),
        ({"data": "first-symbol(train=1600)"}, "other texts"),
        ({"data": "newswire(train=50, test=20)"}, "newswire.* is not streamed"),
        ({"against": "nowhere"}, "--against nowhere: no records of streamed data"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_trained(
    bench, publish, tmp_path, options, message
):
    with pytest.raises(ZooError, match=message):
        bench(tmp_path / "out", **{"pe": "none", "against": "published", **options})
    assert not (tmp_path / "out").exists()


def test_a_package_without_published_records_says_so(
    symbols, tmp_path, monkeypatch, refused_command
):
    monkeypatch.setattr(against, "CARRIED", tmp_path / "none")
    words = ("bench", "--plugin", symbols, "--data", "first-symbol", "--against", "published")
    for more in ((), ("--plan",)):
        assert "no records of streamed data there" in refused_command(*words, *more)
