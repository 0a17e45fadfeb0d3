"""The reference of the command line has every command and every option."""

import html
import re

import pytest
from click.testing import CliRunner

from bench.docs.command_line import reference
from zoo.cli import cli
from zoo.registry.loading import built_ins

COMMANDS = list(built_ins().commands)
SECTIONS = dict(zip(*[iter(re.split(r"^## zoo (\S+)$", reference(), flags=re.MULTILINE)[1:])] * 2,
                    strict=True))  # fmt: skip


def printed(*arguments: str) -> str:
    done = CliRunner().invoke(cli, [*arguments, "--help"], terminal_width=500)
    assert done.exit_code == 0
    return done.output


def plain(text: str) -> str:
    """The text without markup, and with single spaces."""
    text = html.unescape(re.sub(r"</?code>|[\\`]", "", text))
    return " ".join(text.split())


def test_every_command_has_a_section():
    listed = re.search(r"^Commands:\n(.*?)(?:\n\n|\Z)", printed(), re.DOTALL | re.MULTILINE)
    assert re.findall(r"^  (\S+)", listed[1], re.MULTILINE)[: len(COMMANDS)] == COMMANDS
    assert list(SECTIONS) == [*COMMANDS, "export"], "a plug-in beside the zoo has the last one"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_usage_line_and_every_option_that_help_prints_are_in_the_section(command):
    shown = printed(command)
    usage = re.search(r"^Usage: (?:\S+) (.*)$", shown, re.MULTILINE)
    assert f"    zoo {usage[1]}" in SECTIONS[command]
    lines = re.findall(r"^  (-\S.*?)(?:  +(.*))?$", shown, re.MULTILINE)
    assert len(lines) >= 1
    section = plain(SECTIONS[command])
    for flags, text in lines:
        assert plain(flags) in section
        assert plain(text.partition("  [")[0]) in section, flags


def test_every_setting_is_in_the_section_of_its_command():
    settings = re.findall(r"^  ([a-z_]+)=", printed("bench"), re.MULTILINE)
    assert {"dim", "dropout", "compile"} < set(settings)
    assert all(f"<code>{name}=" in SECTIONS["bench"] for name in settings)
