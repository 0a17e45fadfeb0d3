"""Record a terminal session for the documentation: ``python -m bench.session``.

The commands are run one after the other in an empty directory, and docs/session.md has what each
printed, whole. Where something fails, nothing is written.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "session.md"
WIDTH = 100  # columns of the terminal
SMALL = "--data newswire --phases train --set layers=1 --max-length 64"
# What is said, and the command.
STEPS = (
    ("What attentions are there, and what is one of them?", "zoo list attention"),
    ("", "zoo info attention/fused"),
    ("What would run, and what cannot be combined?",
     f"zoo bench --attention fused,naive --pe rope,sin {SMALL} --plan"),
    ("Which of the two encodings is better on made-up news?",
     f"zoo bench --attention fused --pe rope,none {SMALL} --out runs/encodings"),
    ("The best row, trained on all the data, and used:",
     "zoo train --from runs/encodings --save model"),
    ("", "echo 'the team won the final after extra time' | zoo predict model"),
)  # fmt: skip
ABOUT = """\
# A recorded session

What these commands printed, made by `python -m bench.session`; nothing is typed by hand. A small
model on made-up news keeps it short.
"""


def record(steps: Sequence[tuple[str, str]], folder: Path) -> str:
    """Run the commands in a folder; their output as Markdown.

    Raises subprocess.CalledProcessError for a command that fails.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    env |= {"PATH": path, "COLUMNS": str(WIDTH), "XDG_CACHE_HOME": str(folder)}
    parts = []
    for said, command in steps:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=folder, env=env, check=True, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        text = done.stdout.replace(f"{folder}/", "").replace(f"{ROOT}/", "")
        lines = (line.rstrip() for line in text.splitlines())
        parts += [said, "\n".join(["```console", f"$ {command}", *lines, "```"])]
    return "\n\n".join(filter(None, parts))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        text = record(STEPS, Path(folder).resolve())
    PAGE.write_text(f"{ABOUT}\n{text}\n", "utf-8")


if __name__ == "__main__":
    main()
