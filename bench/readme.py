"""Put the published tables into the README: ``python -m bench.readme``."""

from __future__ import annotations

import re
from pathlib import Path

from bench.peers.table import summary

ROOT = Path(__file__).parents[1]
PLACE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
# What the published comparisons of equal work say.
SPEED = re.compile(r"(<!-- speed: (\S+) -->\n).*?(<!-- end of speed -->)", re.DOTALL)


def main() -> None:
    readme = ROOT / "README.md"
    text = PLACE.sub(
        lambda m: f"{m[1]}{(ROOT / m[2] / 'table.md').read_text()}{m[3]}", readme.read_text()
    )
    readme.write_text(SPEED.sub(lambda m: f"{m[1]}{summary(ROOT / m[2])}{m[3]}", text))


if __name__ == "__main__":
    main()
