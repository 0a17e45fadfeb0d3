"""`zoo.testing` in a plug-in's own tests, and as a plug-in of pytest."""

from __future__ import annotations

import subprocess
import sys

import forked
import pytest
from refused import refused
from specimens import mutations

from zoo.errors import ZooError
from zoo.testing import checks, component_checks

POOLS = mutations()["pool"]
BROKEN = "pool/mean-over-padding"

test_three_lines_are_a_test_of_every_mechanism = checks("pool/cls", without=["compiled"])


def one(component: str, name: str, **options):
    """This check of a component."""
    (check,) = component_checks(component, only=[name], **options)
    return check


@pytest.mark.parametrize(
    "check", component_checks("pool/mean", "pool/cls", only=["declares"]), ids=str
)
def test_there_is_one_test_per_check_and_component(check, request):
    assert request.node.name.endswith(f"[{check}]")
    assert str(check) in ("pool/mean:declares", "pool/cls:declares")
    check()


def test_it_fails_with_the_numbers_owner_claim_and_command():
    with pytest.raises(pytest.fail.Exception) as failure:
        one(BROKEN, "surroundings", plugin=POOLS)()
    message = str(failure.value)
    assert "pool/mean-over-padding (pool.py " in message
    assert "surroundings: right padding of 6 changes real tokens of text 1 " in message
    assert message.splitlines()[0].endswith("the mask is ignored")
    assert "must hold: Padding, other texts" in message
    assert f"--only surroundings --plugin {POOLS}" in message


def test_where_nothing_is_checked_the_test_is_skipped_with_the_reason():
    with pytest.raises(pytest.skip.Exception, match="it builds nothing, which its kind allows"):
        one("ffn/none", "surroundings")()


def test_unknown_checks_and_distributions_are_refused():
    with pytest.raises(ZooError, match="no check 'vales'; did you mean"):
        checks("pool/mean", without=["vales"])
    refused("no check 'baselines'", component_checks, "pool/mean", only=["baselines"])
    refused("registers nothing", component_checks, distribution="no-such-distribution")


def test_a_file_alone_means_all_that_it_registers():
    owners = {c.choice.component.owner.distribution for c in component_checks(plugin=POOLS)}
    assert owners == {"pool.py"}


def test_importing_it_imports_neither_torch_nor_pytest():
    code = "import sys, zoo.testing; print({'torch', 'pytest', 'pydantic'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_pytest_runs_the_checks_of_a_file(tmp_path):
    part = tmp_path / "mine.py"
    part.write_text(
        "from zoo import part\n"
        "from zoo.components.norm.rms import RMSNorm\n"
        "@part('norm', 'mine', adds=('scale-invariant', 'unit-variance'))\n"
        "class Mine(RMSNorm):\n"
        "    'Wrong: the mean is not zero.'\n"
    )
    (tmp_path / "test_other.py").write_text("def test_other(): assert False\n")
    # Some of the file's checks; the other test that these words name is not of the file.
    words = ["-q", "-p", "no:cacheprovider", "--zoo-part", "mine.py"]
    words += ["-k", "declares or values or other"]
    printed = forked.output(f"import pytest; pytest.main({words})", cwd=tmp_path)
    assert "norm/mine:declares" in printed
    assert "declares: mean in layer 0: " in printed
    assert "1 failed, 1 passed, 4 deselected" in printed
