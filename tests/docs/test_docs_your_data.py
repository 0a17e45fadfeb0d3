"""Every command of docs/your-data.md reads the data that it names, in the forms it describes."""

import gzip
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from zoo.api import build_requests
from zoo.registry.loading import built_ins
from zoo.tasks.base import find_task

DOC = (Path(__file__).parents[2] / "docs" / "your-data.md").read_text(encoding="utf-8")
COMMANDS = [
    line.split("   #")[0].strip() for line in re.findall(r"^ {4}(zoo [^\n]*)$", DOC, re.MULTILINE)
]
OF_COMMANDS = (
    *("on", "out", "track", "plan_only", "seed"),
    *("save", "from_", "row", "all_data", "as_json"),
)

ARTICLES = "text,label,title,body,section,year\n" + "".join(
    f"text {n},{'ab'[n % 2]},Title {n},the body {n},{'xy'[n % 2]},{2000 + n % 3}\n"
    for n in range(40)
)
AG_NEWS = "".join(f'"{n % 4 + 1}","Title ""{n}""","Body, {n}"\r\n' for n in range(24))
SMS = "".join(f'{"ham" if n % 4 else "spam"}\t"Message {n}\n' for n in range(24))


TICKETS = "id,message,category\n" + "".join(
    f"{n},message {n},{('Billing', 'Login')[n % 2] if n not in (3, 12, 21) else ''}\n"
    for n in range(40)
).replace("10,Billing", "10,billing")


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """All files that the page names."""
    here = tmp_path_factory.mktemp("page")
    content: dict[str, bytes] = {
        "articles.csv": ARTICLES.encode(),
        "tickets.csv": TICKETS.encode(),
        "new-articles.csv": ARTICLES.replace("text ", "new ").encode(),
        "articles.csv.gz": gzip.compress(ARTICLES.encode()),
        "messages.csv": ARTICLES.replace("text 3,", '"text 3,').encode(),
        "from_spark.csv": ARTICLES.replace("text 3,", '"text \\"3\\"",').encode(),
        "european.csv": ARTICLES.replace(",", ";").replace("text", "text \u20ac").encode("cp1252"),
        "ag_news/train.csv": AG_NEWS.encode(),
        "ag_news/test.csv": AG_NEWS.replace("Body", "Test").encode(),
        "SMSSpamCollection": SMS.encode(),
        "export.txt": b"".join(b'{"text": "t%d", "label": %d}\n' % (n, n % 2) for n in range(8)),
        "reviews/train.csv": ARTICLES.encode(),
        "reviews/test.csv": ARTICLES.replace("text ", "test ").encode(),
        "reviews/validation.csv": ARTICLES.replace("text ", "other ").encode(),
        **{
            f"20news/20news-bydate-{split}/{group}/{n}": f"{split} {group} {n}".encode()
            for split in ("train", "test")
            for group in ("alt.atheism", "sci.space")
            for n in range(4)
        },
    }
    content["european.csv"] = content["european.csv"].replace(b"text \x80;", b"text;", 1)
    for name, held in content.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_bytes(held)
    return here


def parsed(command: str) -> tuple[str, dict[str, Any]]:
    """The name of a command and what its options are parsed to."""
    _, name, *arguments = shlex.split(command)
    return name, built_ins().commands[name].resolve().make_context(name, arguments).params


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reads_what_the_page_says(command, files, registry, monkeypatch, tmp_path):
    monkeypatch.chdir(files)
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path))
    name, params = parsed(command)
    for option in ("data", "input", "source", "test"):
        if params.get(option):
            assert Path(params[option]).exists(), f"{option} of {command}"
    if name not in ("bench", "train"):
        return
    given = {name: value for name, value in params.items() if name not in OF_COMMANDS}
    for request in build_requests(given, registry):
        task = find_task(registry, request.task)
        options = task.options.model_validate(request.task_options)
        loaded = task.load(request.data, options, request.sizes, registry)
        assert len(loaded.encoded.label_names) >= 2
        assert (loaded.description.get("validation", 0) > 0) == ("reviews/" in command)


def test_the_page_has_commands():
    assert len(COMMANDS) > 15


def test_what_is_wrong_with_the_tickets_is_said_as_printed_there(files, monkeypatch, said):
    monkeypatch.chdir(files)
    command, *lines = re.findall(r"```\n\$ (zoo .*?)```", DOC, re.DOTALL)[0].splitlines()
    assert said(*shlex.split(command)[1:], status=2).err.splitlines() == lines
