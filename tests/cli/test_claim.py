"""``zoo claim`` and ``zoo claims``: a claim of a plug-in, run, judged, listed and resumed."""

import pytest
from streamed_data import PLUGIN

from zoo.cli.claim import claim_files, refuse_absent
from zoo.config.claim import load_claim
from zoo.registry.loading import load

SUITE = """
pe = "rope,none"
data = "first-symbol"
lr = 0.01

[claim]
paper = "Nobody 2026"
section = "section 1"
statement = "Who does not know the order cannot say what stands first."
seeds = 4

[[claim.expects]]
solves = "rope"

[[claim.expects]]
fails = "none"
"""


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """A plug-in's file, with the folder of its claims beside it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "first.toml").write_text(SUITE)
    file = tmp_path / "streamed.py"
    file.write_text(PLUGIN)
    return file


def test_a_claim_is_run_judged_listed_and_resumed(plugin, said):
    of_plugin = "--plugin", plugin
    listed = said("claims", *of_plugin).out
    assert "not run" in next(line for line in listed.splitlines() if line.startswith("first "))
    words = "claim", "first", *of_plugin, "--on", "inline"
    assert said(*words, "--plan").out.endswith("2 to run, 0 skipped\n8 trainings\n")
    *_, rope, none, _, verdict = said(*words).out.splitlines()
    assert "yes  rope on first-symbol: solved 4/4 [0.51, 1.00]" in rope
    assert "yes  none on first-symbol: solved 0/4 [0.00, 0.49]" in none
    assert verdict.startswith("holds here: 4 seeds, ")
    again = said(*words)
    assert "train: 8 there already" in again.err
    assert again.out.splitlines()[-1] == verdict
    listed = said("claims", *of_plugin).out
    assert "holds here" in next(line for line in listed.splitlines() if line.startswith("first "))
    more = said("claim", "claims/first.toml", *of_plugin, "--on", "inline", "--seeds", "5")
    assert "train: 8 there already" in more.err
    assert more.out.splitlines()[-1].startswith("holds here: 5 seeds, ")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('fails = "none"', 'fails = "sin"', "first.toml expects.2: sin: no such cell"),
        (
            'solves = "rope"',
            'solves = "rope"\nlr = 0.1',
            "first.toml expects.1: no rate 0.1 in 0.01",
        ),
        ('solves = "rope"', 'solves = "rope"\ndata = "recall"', "no data set fits data = 'recall'"),
    ],
)
def test_a_prediction_of_what_the_suite_does_not_make_is_refused_first(
    plugin, refused_command, old, new, said
):
    file = plugin.parent / "claims" / "first.toml"
    file.write_text(SUITE.replace(old, new))
    assert said in refused_command("claim", "first", "--plugin", plugin)
    assert not (plugin.parent / "runs").exists()


def test_a_claim_that_cannot_be_read_hides_no_other(plugin, said):
    (plugin.parent / "claims" / "broken.toml").write_text("[claim")
    lines = said("claims", "--plugin", plugin).out.splitlines()
    assert "cannot be read" in next(line for line in lines if line.startswith("broken "))
    assert "not run" in next(line for line in lines if line.startswith("first "))


def test_no_seeds_are_not_the_default(plugin, refused_command):
    assert "--seeds 0" in refused_command("claim", "first", "--plugin", plugin, "--seeds", "0")


def test_a_claim_that_is_none_is_refused_with_the_nearest(plugin, refused_command):
    line = refused_command("claim", "frist", "--plugin", plugin)
    assert "no claim 'frist', and no such file; did you mean 'first'?" in line


@pytest.mark.parts
def test_every_claim_of_ours_can_be_run():
    zoo = load(selection="zoo-efficient,zoo-modern")
    for name, file in claim_files(zoo).items():
        claim = load_claim(file)
        assert claim.seeds == 8, name
        refuse_absent(claim, file, zoo.registry)
