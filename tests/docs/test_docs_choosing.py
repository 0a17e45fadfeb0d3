"""What the page on choosing parts says is what the published records hold."""

import re

from bench.docs.choosing import pages
from bench.docs.place import SOURCES
from bench.readme import BLOCK, filled

PAGE = (SOURCES / "choosing.md").read_text("utf-8")


def test_every_published_run_is_on_the_page():
    for place, _, _, directory in pages():
        assert not directory.exists() or f"(../results/{place}/README.md)" in PAGE


def test_the_page_in_the_repository_is_what_the_records_say():
    assert filled(PAGE, SOURCES) == PAGE


def test_no_figure_is_typed_by_hand():
    assert re.findall(r"\d", BLOCK.sub("", PAGE)) == []
