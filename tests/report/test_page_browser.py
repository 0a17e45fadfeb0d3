"""The page in Chromium: sorted, filtered, unfolded, and readable at two widths."""

from pathlib import Path

import pytest
from chromium import emulate, needs_chromium, started
from hostile import SCRIPT
from rendered import profile_page_of_six, rendered

CHECKS = sorted(Path(__file__).with_name("checks").glob("*.js"))
pytestmark = needs_chromium


@pytest.fixture
def browser(tmp_path):
    """Shows a page; nothing may be written to the console."""

    def show(page, width=1280):
        (tmp_path / "page.html").write_text(page, encoding="utf-8")
        emulate(started(), width)
        started().get((tmp_path / "page.html").as_uri())
        return started()

    yield show
    assert started().get_log("browser") == []


def column(page, head):
    """The keys and texts in a column of the visible rows, from the top down."""
    script = """
        const heads = [...document.querySelectorAll("#results thead th")];
        const at = heads.findIndex(th => th.textContent === arguments[0]);
        return [...document.querySelectorAll("#results tbody tr")].filter(row => !row.hidden)
          .map(row => row.cells[at].dataset.key);
    """
    return page.execute_script(script, head)


def test_rows_are_sorted_filtered_and_unfolded(browser):
    page = browser(rendered("small").page)
    memory = page.find_element("xpath", "//table[@id='results']//button[.='memory MiB']")
    for order in (1, -1):
        memory.click()
        numbers = [float(key) for key in column(page, "memory MiB") if key]
        assert len(numbers) > 15
        assert numbers == sorted(numbers)[::order]
        assert column(page, "memory MiB")[-1] == "", "rows without a number come last both ways"
    everything = column(page, "pe")
    page.find_element("css selector", "#filter input").send_keys("SIN layer")
    assert 0 < len(column(page, "pe")) < len(everything)
    assert set(column(page, "pe")) == {"sin"}
    count = page.find_element("css selector", "#filter [role=status]").text
    assert count == f"{len(column(page, 'pe'))} of {len(everything)} rows"
    link = page.find_element("css selector", "#results tbody tr:not([hidden]) a")
    line = page.find_element("id", link.get_attribute("href").partition("#")[2])
    assert not line.is_displayed()
    link.click()
    assert line.is_displayed()
    assert line.find_element("tag name", "code").text.startswith("zoo bench --attention ")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["small", "long", "profile", "hostile"])
def test_nothing_is_beside_the_page_hard_to_read_or_run(browser, name):
    """Labels of plots do not overlap, contrast is that of WCAG, and names are text."""
    made = profile_page_of_six() if name == "profile" else rendered(name).page
    for width in (390, 1280):
        page = browser(made, width)
        page.execute_script("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        height = page.execute_script("return document.documentElement.scrollHeight")
        emulate(page, width, height=height)
        assert page.execute_script("return document.documentElement.scrollWidth") <= width
    if name != "hostile":
        assert [problem for c in CHECKS for problem in page.execute_script(c.read_text())] == []
    else:
        assert page.title.endswith(" on bbc-news")
        assert page.find_elements("tag name", "img") == []
        assert SCRIPT in page.find_element("id", "results").text
