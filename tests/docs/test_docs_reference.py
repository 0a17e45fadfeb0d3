"""The Python reference: every public name, and none without a docstring."""

from __future__ import annotations

import re

import pytest
from refused import refused

pytest.importorskip("griffe", reason="the extra docs is not installed")

import zoo
from bench.docs import reference
from bench.docs.place import ROOT

UNDOCUMENTED = '''"""A module."""

class Open:
    """Documented."""
    def method(self): ...
    def _private(self): ...

class Derived(Open):
    """Documented."""
    def method(self): ...

def bare(): ...
def _hidden(): ...
'''


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return dict(reference.reference_pages())


def test_what_import_zoo_offers_is_there(made):
    found = set(re.findall(r"^::: (\S+)$", "\n".join(made.values()), re.MULTILINE))
    for name in set(zoo.__all__) - {"__version__"}:
        value = getattr(zoo, name)
        home = getattr(value, "__module__", "")
        if name != "hookimpl":  # pluggy's marker, which is no function of ours
            assert f"{home}.{name}" in found


def test_modules_that_the_authors_page_names_are_there(made):
    page = (ROOT / "plugins" / "README.md").read_text("utf-8")
    text = "\n".join(made.values())
    named = set(re.findall(r"`(zoo\.components\.[a-z_.]+[a-z])`", page))
    assert len(named) > 2
    for module in named:
        assert f"## {module}" in text or f"::: {module}" in text, module


def test_an_undocumented_name_is_an_error_that_names_it(tmp_path, monkeypatch):
    (tmp_path / "undocumented_example.py").write_text(UNDOCUMENTED, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(reference, "ROOT", tmp_path)
    monkeypatch.setattr(reference, "PAGES", {"example": ("", ("undocumented_example",))})
    says = r"without a docstring: undocumented_example\.Open\.method, undocumented_example\.bare$"
    refused(says, reference.reference_pages)


def test_a_name_that_is_missing_from_the_built_page_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(reference, "PAGES", {"testing": ("", ("zoo.testing",))})
    page = tmp_path / "api" / "testing" / "index.html"
    page.parent.mkdir(parents=True)
    anchors = [f'<h3 id="{name}">' for name in reference.public_names("zoo.testing")]
    assert len(anchors) > 1
    page.write_text("".join(anchors), "utf-8")
    reference.check_reference(tmp_path)
    page.write_text("".join(anchors[:-1]), "utf-8")
    refused(r"api/testing lacks zoo\.testing\.", reference.check_reference, tmp_path)
