"""Put the published tables into the README: ``python -m bench.readme``."""

from __future__ import annotations

import re
from pathlib import Path

from bench.peers.table import as_markdown

ROOT = Path(__file__).parents[1]
PLACE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
# Of the published comparisons, those of some works.
PEERS = re.compile(r"(<!-- peers: (\S+), (.+?) -->\n).*?(<!-- end of peers -->)", re.DOTALL)


def main() -> None:
    readme = ROOT / "README.md"
    text = PLACE.sub(
        lambda m: f"{m[1]}{(ROOT / m[2] / 'table.md').read_text()}{m[3]}", readme.read_text()
    )
    text = PEERS.sub(lambda m: f"{m[1]}{as_markdown(ROOT / m[2], m[3].split('; '))}{m[4]}", text)
    readme.write_text(text)


if __name__ == "__main__":
    main()
