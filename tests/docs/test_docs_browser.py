"""Pages of the site in Chromium, narrow and wide, light and dark."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from chromium import emulate, needs_chromium, started
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image, ImageStat
from test_docs_site import own_settings, zensical

from bench.docs.place import SOURCES

pytest.importorskip("zensical", reason="the extra docs is not installed")
pytest.importorskip("nbconvert", reason="the extra docs is not installed")
pytestmark = [needs_chromium, pytest.mark.slow]

CONTRAST = Path(__file__).parents[1] / "report" / "checks" / "contrast.js"
WIDE = pd.DataFrame([[0.123456] * 9] * 2, columns=[f"a_long_column_{n}" for n in range(9)])


def notebook() -> nbformat.NotebookNode:
    """A progress bar drawn five times, a table of pandas wider than a telephone, a picture."""
    bars = [new_output("stream", name="stderr", text=f"\rtrain: {n}/4") for n in range(5)]
    table = new_output("execute_result", {"text/html": WIDE._repr_html_()})
    picture = io.BytesIO()
    Image.new("RGB", (40, 40), "white").save(picture, "png")
    drawn = new_output("display_data", {"image/png": base64.b64encode(picture.getvalue()).decode()})
    code = new_code_cell("zoo.bench(" + "a" * 90 + ")", outputs=[*bars, table, drawn])
    text = "# A notebook\n\nIt has `code`, [a link](index.md) and a table.\n\n## A part\n\nText."
    words = "|".join(f" a long head {n} " for n in range(9))
    rows = f"|{words}|\n|{'---|' * 9}\n|{words}|"
    return new_notebook(cells=[new_markdown_cell(f"{text}\n\n{rows}"), code])


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """A site with our settings: its first page, and that notebook."""
    from bench.docs.notebooks import _pages

    folder = tmp_path_factory.mktemp("site")
    own_settings(folder)
    pages = folder / "build" / "docs" / "pages"
    pages.mkdir(parents=True)
    (pages / "site.css").write_bytes((SOURCES / "site.css").read_bytes())
    (pages / "index.md").write_text("# Home\n\n[A notebook](notebook.md)\n", "utf-8")
    for path, content in _pages("notebook", notebook()):
        (pages / path).parent.mkdir(exist_ok=True)
        (pages / path).write_bytes(content.encode() if isinstance(content, str) else content)
    built = zensical(folder)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / "build" / "docs" / "site"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_can_be_read(site, width, scheme):
    browser = started()
    emulate(browser, width, scheme)
    browser.get((site / "notebook" / "index.html").as_uri())
    height = browser.execute_script("return document.documentElement.scrollHeight")
    emulate(browser, width, scheme, height=height)
    page = "document.documentElement"
    assert browser.execute_script(f"return {page}.scrollWidth <= {page}.clientWidth")
    shown = browser.execute_script("return document.body.dataset.mdColorScheme")
    assert shown == {"light": "default", "dark": "slate"}[scheme]
    # The link of a heading to itself is only seen where the mouse is.
    wrong = browser.execute_script(CONTRAST.read_text("utf-8"))
    assert [each for each in wrong if not each.endswith(": ¶")] == []
    # What is wider than the page scrolls by itself.
    tables = browser.find_elements("css selector", "article table")
    assert len(tables) == 2
    for table in tables:
        box = table.find_element("xpath", "./ancestor::div[contains(@class, 'scrollwrap')]")
        assert box.size["width"] <= width
    text = browser.find_element("css selector", "article").text
    assert text.count("train: ") == 1
    assert "train: 4/4" in text
    # A white picture is white on a white page, and dark on a dark one.
    picture = browser.find_element("css selector", "article img")
    seen = Image.open(io.BytesIO(picture.screenshot_as_png)).convert("L")
    lightness = ImageStat.Stat(seen).mean[0] / 255
    assert lightness > 0.95 if scheme == "light" else lightness < 0.2
