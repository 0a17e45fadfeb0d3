"""Where the site's sources are, and where it is made."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "docs"
RESULTS = ROOT / "results"
BUILD = ROOT / "build" / "docs"
PAGES = BUILD / "pages"  # what Zensical reads: docs_dir in zensical.toml
SITE = BUILD / "site"  # what it writes: site_dir
CACHE = BUILD / "cache"
CONFIG = ROOT / "zensical.toml"
