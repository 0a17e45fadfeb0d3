"""The results of a run: numbers, owner, the command that repeats it, and what was skipped."""

from __future__ import annotations

import re
import shlex

import pytest
import torch
from specimens import mutations, run_check

from zoo.cli import main
from zoo.conformance.check import checks_of, counts, run_checks, select_choices
from zoo.registry import KINDS
from zoo.registry.loading import load

POOLS = str(mutations()["pool"])


def one(name: str, *files: str):
    return select_choices(load(files=files), [name])[0]


def test_a_failure_has_the_numbers_the_owner_and_the_command_that_repeats_it(capsys):
    choice = one("pool/mean-over-padding", POOLS)
    result = run_check(choice, "surroundings", files=[POOLS])
    assert result.status == "failed"
    assert "changes real tokens of text 1 " in result.message
    assert "is allowed" in result.message
    assert result.owner.startswith("pool.py ")
    words = shlex.split(result.repeat)
    assert words[:2] == ["zoo", "check"]
    assert main(words[1:]) == 1
    printed = capsys.readouterr().out
    assert result.message in printed
    assert "0 passed, 1 failed, 0 skipped" in printed


def test_a_component_whose_optional_dependency_is_missing_is_skipped(tmp_path):
    plugin = tmp_path / "needing.py"
    plugin.write_text(
        "from zoo import hookimpl\n"
        "from zoo.errors import ComponentError\n"
        "def norm(dim):\n"
        "    try:\n"
        "        import no_such_library\n"
        "    except ImportError as error:\n"
        "        raise ComponentError(\"pip install 'needing[norm]'\") from error\n"
        "@hookimpl\n"
        "def zoo_register(register):\n"
        "    register('norm', 'needing', norm, summary='needs more')\n"
    )
    results = list(run_checks([one("norm/needing", str(plugin))]))
    assert counts(results)["failed"] == 0
    skipped = {result.message for result in results if result.status == "skipped"}
    assert "pip install 'needing[norm]'" in skipped


@pytest.mark.parametrize(
    "text",
    [
        "import sys\ndef go(): print('noise') or sys.exit('Leave')",
        "class Leave(BaseException): pass\ndef go(): raise Leave('now')",
        "import pytest\ndef go(): pytest.skip('Leave now')",
        "class Leave(Exception):\n    def __str__(self): raise ValueError\ndef go(): raise Leave",
    ],
)
def test_no_exception_of_a_component_ends_the_run_or_passes_for_a_skip(tmp_path, text):
    plugin = tmp_path / "leaving.py"
    plugin.write_text(
        f"{text}\n"
        "from torch import nn\n"
        "from zoo import hookimpl\n"
        "class Norm(nn.Module):\n"
        "    def __init__(self, dim):\n"
        "        super().__init__()\n"
        "    def forward(self, x):\n"
        "        go()\n"
        "@hookimpl\n"
        "def zoo_register(register):\n"
        "    register('norm', 'leaves', Norm, summary='leaves')\n"
    )
    result = run_check(one("norm/leaves", str(plugin)), "values")
    assert result.status == "failed"
    assert re.search(r"raised .*Leave.* \(leaving\.py:\d+\)", result.message), result.message


def test_results_do_not_depend_on_earlier_checks_or_change_the_global_generator():
    choice = one("pool/mean-over-padding", POOLS)
    torch.manual_seed(1)
    first = run_check(choice, "surroundings").message
    state = torch.get_rng_state()
    torch.manual_seed(2)
    threads = torch.get_num_threads()
    both = ("declares", "surroundings")
    results = {r.check: r.message for r in run_checks([choice], only=both)}
    assert results["surroundings"] == first
    assert torch.get_num_threads() == threads
    torch.manual_seed(1)
    run_check(choice, "surroundings")
    assert torch.equal(torch.get_rng_state(), state)


def test_every_check_states_its_claim_in_a_line():
    for kind in KINDS:
        checks = checks_of(kind)
        assert checks
        for check in checks.values():
            assert check.__doc__.endswith(".")
            assert len(check.__doc__) <= 100
            assert "\n" not in check.__doc__
