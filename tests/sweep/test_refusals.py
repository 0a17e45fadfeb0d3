"""A component that refuses what it is built with has a skipped row, and no crash."""

from small_runs import CLASSIFY, bench

PLUGIN = """
from zoo import hookimpl
from zoo.components.attention.split import Split
from zoo.components.ffn.two_layer import GELU


class Thirds(Split):
    def __init__(self, dim, heads, *, dropout=0.0, parts=3):
        super().__init__(dim, heads, dropout=dropout)
        if heads % parts:
            raise ValueError(f"thirds: {heads} heads do not divide into {parts} parts")


class Broken(GELU):
    def __init__(self, dim, hidden, dropout=0.0):
        raise KeyError("size")


@hookimpl
def zoo_register(register):
    capabilities = ("rotate", "padding", "cross")
    register("attention", "thirds", Thirds, summary="", capabilities=capabilities,
             parameters={"parts": 3})
    register("ffn", "broken", Broken, summary="")
"""
REASON = "thirds: 2 heads do not divide into 3 parts"


def test_a_refused_row_is_skipped_with_the_components_reason_and_is_no_reference(tmp_path):
    """What is broken is no refusal. Speeds are divided by those of a row that was trained."""
    plugin = tmp_path / "thirds.py"
    plugin.write_text(PLUGIN, "utf-8")
    options = {**CLASSIFY, "data": "newswire(train=40,test=20)", "baseline": "none", "epochs": 1}
    options |= {"attention": "thirds,fused", "ffn": "gelu,broken", "blocks": 1}
    records = bench(tmp_path / "out", options, plugins=(plugin,)).records
    trained = {
        (r.cell["attention"], r.cell["ffn"]): (r.status, r.reason)
        for r in records
        if r.kind == "train"
    }
    status, reason = trained.pop(("fused", "broken"))
    assert (status, "KeyError: 'size'" in reason) == ("crashed", True)
    assert trained == {
        ("thirds", "gelu"): ("skipped", REASON),
        ("thirds", "broken"): ("skipped", REASON),
        ("fused", "gelu"): ("ok", ""),
    }
    (measured,) = [r for r in records if r.kind == "cost" and r.status == "ok"]
    assert measured.samples["reference"]["name"] == measured.name
