"""What docs/transformers.md shows is so."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import zoo_hf

from zoo.cli import main

PAGE = Path(__file__).parents[3] / "docs" / "transformers.md"
BLOCKS = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_examples_run_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    zoo_hf.use_plugins()
    text, names = PAGE.read_text().partition("## ONNX")[0], dict[str, object]()
    blocks = BLOCKS.findall(text)
    assert {language for language, _ in blocks} == {"", "python"}
    for language, block in blocks:
        if language:
            exec(compile(block, str(PAGE), "exec"), names)
        else:
            program, *arguments = shlex.split(block)
            assert program == "zoo"
            assert main([*arguments, "--threads", "1", "--on", "inline"]) == 0
    listed = capsys.readouterr().out
    shown = re.findall(r"^    (\S+ (?:zoo_|it ).*)$", text, re.MULTILINE)
    assert len(shown) == 6
    assert "\n".join(shown) in listed
