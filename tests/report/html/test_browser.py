"""The page in Chromium: with mouse and keyboard, wide and narrow, light and dark.

Screenshots go to the directory named by ZOO_SCREENSHOTS, or to pytest's temporary one.
"""

import base64
import functools
import itertools
import os
import re
from pathlib import Path

import pytest
from chromium import emulate, needs_chromium, started
from hostile import LONG, SCRIPT
from rendered import attention_page, profile_page_of_six, rendered
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from zoo.report.write import PAGE

CHECKS = sorted(Path(__file__).with_name("checks").glob("*.js"))
UNFOLD = "document.querySelectorAll('details').forEach(each => { each.open = true; })"
pytestmark = needs_chromium
slow = pytest.mark.slow


@pytest.fixture
def browser():
    return started()


def show(browser, folder, width):
    """Load a page as it is when it is opened."""
    emulate(browser, width)
    browser.get((folder / PAGE).as_uri())


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Makes the folder of a page, which is rendered when it is first asked for."""

    @functools.cache
    def made(name):
        makers = {"profile": profile_page_of_six, "attention": lambda: attention_page()[1]}
        text = makers[name]() if name in makers else rendered(name).page
        folder = tmp_path_factory.mktemp(name)
        (folder / PAGE).write_text(text, encoding="utf-8")
        return folder

    return made


def open_page(browser, folder, width=1280, scheme="light"):
    """Load a page and unfold all of it, in a window that is as high as the page."""
    emulate(browser, width, scheme)
    browser.get((folder / PAGE).as_uri())
    browser.execute_script(UNFOLD)
    height = browser.execute_script("return document.documentElement.scrollHeight")
    emulate(browser, width, scheme, height=height)


@pytest.fixture
def page(browser, pages):
    """The page, newly opened at desktop width, unfolded; the console must stay empty."""
    open_page(browser, pages("small"))
    emulate(browser, 1280)
    yield browser
    assert browser.get_log("browser") == []


def column(browser, head):
    """The texts in a column of the visible rows, from the top down."""
    return browser.execute_script(
        """
        const heads = [...document.querySelectorAll("#results thead th")];
        const at = heads.findIndex(th => th.textContent.trim() === arguments[0]);
        return [...document.querySelectorAll("#results tbody tr:not([hidden])")]
          .map(row => row.cells[at].firstElementChild.textContent.trim());
        """,
        head,
    )


def head(browser, text):
    return browser.find_element("xpath", f"//table[@id='results']//th/button[bdi='{text}']")


def css(browser, selector, wanted):
    script = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    return browser.execute_script(script, selector, wanted)


def press(browser, *keys):
    ActionChains(browser).send_keys(*keys).perform()


def focused(browser, what="return document.activeElement.textContent.trim()"):
    return browser.execute_script(what)


def problems_of(browser, name="small"):
    """What the checks find; a page without plots has no labels."""
    checks = [check for check in CHECKS if check.stem != "labels" or name != "attention"]
    return [one for check in checks for one in browser.execute_script(check.read_text())]


def test_rows_are_sorted_filtered_pointed_at_and_chosen(page):
    assert problems_of(page) == []
    memory = head(page, "memory MiB")
    for order in (1, -1):
        memory.click()
        numbers = [float(text) for text in column(page, "memory MiB") if text]
        assert len(numbers) > 15
        assert numbers == sorted(numbers)[::order]
        assert column(page, "memory MiB")[-1] == "", "rows without a number come last both ways"
    assert memory.find_element("xpath", "..").get_attribute("aria-sort") == "descending"
    everything = len(column(page, "pe"))
    for name, left in (("rope", {"rope", ""}), ("sin", {"rope", "sin", ""})):
        page.find_element("xpath", f"//fieldset[legend='pe']//label[bdi='{name}']/input").click()
        assert set(column(page, "pe")) == left
    count = page.find_element("id", "count").text
    assert count == f"{len(column(page, 'pe'))} of {everything} rows"
    assert page.find_elements("css selector", "#pareto-speed .mark.out")
    page.find_element("id", "baselines").click()
    page.find_element("id", "only-ok").click()
    assert "" not in column(page, "pe")
    assert set(column(page, "status")) == {"ok"}
    mark = page.find_element("css selector", "#grid .mark[data-row]")
    title = page.execute_script("return arguments[0].querySelector('title').textContent", mark)
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", mark)
    ActionChains(page).move_to_element(mark).perform()
    assert page.find_element("css selector", "#grid .readout").text == title
    row = mark.get_attribute("data-row")
    assert "here" in page.find_element("id", f"line-{row}").get_attribute("class")
    ActionChains(page).click(mark).perform()
    assert page.find_element("id", "chosen").get_attribute("value") == row
    assert page.find_element("css selector", "#details p").text == title
    counts = [int(e.text) for e in page.find_elements("css selector", "#confusion td")]
    assert (len(counts), sum(counts)) == (25, 3 * 200)
    code = page.find_element("css selector", "#details code").text
    assert code.startswith("zoo bench --attention ")


@slow
def test_everything_works_with_the_keyboard_alone(page):
    press(page, Keys.TAB)
    assert focused(page) == "To the table"
    seen = []
    for _ in range(80):
        press(page, Keys.TAB)
        seen.append(focused(page, "return document.activeElement.closest('fieldset')?.tagName"))
        if focused(page) == "accuracy":
            break
    assert "FIELDSET" in seen, "filters come before the table"
    assert focused(page) == "accuracy"
    assert css(page, "#results thead button:focus", "outlineStyle") == "solid"
    press(page, Keys.ENTER)
    values = [float(text.split()[0]) for text in column(page, "accuracy") if text]
    assert values == sorted(values, reverse=True)
    # A plot is one stop; the arrow keys go from mark to mark, and Enter chooses.
    page.execute_script("document.querySelector('#pareto-memory .scroll').focus()")
    press(page, Keys.TAB)
    first = focused(page, "return document.activeElement.dataset.row")
    press(page, Keys.ARROW_RIGHT)
    second = focused(page, "return document.activeElement.dataset.row")
    assert first is not None
    assert second not in (None, first)
    assert page.find_element("css selector", "#pareto-memory .readout").text != ""
    press(page, Keys.ENTER)
    assert page.find_element("id", "chosen").get_attribute("value") == second
    press(page, Keys.TAB)
    assert focused(page, "return document.activeElement.closest('figure').id") == "grid"
    # A row's button leads to its details.
    page.execute_script("document.querySelector('#results .pick').focus()")
    press(page, Keys.ENTER)
    assert focused(page) == "One row"


@slow
@pytest.mark.parametrize("name", ["small", "long", "profile", "attention"])
def test_all_is_on_the_screen_and_readable_at_every_width_in_light_and_dark_mode(
    browser, pages, name, tmp_path_factory
):
    """Off-screen parts, labels of plots that overlap or are small, contrast, and the console."""
    folder = Path(os.environ.get("ZOO_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    found = []
    widths, schemes = (390, 1280, 1920), ("light", "dark")
    if name == "long":
        widths, schemes = (390, 1280), ("light",)
    for width, scheme in itertools.product(widths, schemes):
        open_page(browser, pages(name), width, scheme)
        light = css(browser, "body", "backgroundColor") == "rgb(255, 255, 255)"
        assert light == (scheme == "light")
        found += [f"{width} {scheme}: {problem}" for problem in problems_of(browser, name)]
        taken = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
        (folder / f"{name}-{width}-{scheme}.png").write_bytes(base64.b64decode(taken["data"]))
    assert found == []
    assert browser.get_log("browser") == []


@slow
def test_the_checks_find_what_is_wrong(page):
    """What the test above looks for is put into a page that is all right."""
    page.execute_script(
        """
        document.querySelector("#run").style.color = "#999";
        document.querySelector("#outcome p").style.cssText = "position: relative; left: 100vw";
        const [one, other] = document.querySelectorAll("#pareto-speed text");
        other.setAttribute("transform", one.getAttribute("transform"));
        ["x", "y"].forEach(name => other.setAttribute(name, one.getAttribute(name)));
        document.querySelector("#grid text").style.fontSize = "5px";
        """
    )
    found = {check.stem: page.execute_script(check.read_text()) for check in CHECKS}
    assert any("contrast 2.8" in problem for problem in found["contrast"])
    assert any("sideways" in problem for problem in found["off_screen"])
    assert any(problem.startswith("P from ") for problem in found["off_screen"])
    assert any("covers" in problem for problem in found["labels"])
    assert any(" pixels: grid: " in problem for problem in found["labels"])


@slow
def test_the_answer_and_a_plot_come_first_then_the_table_and_the_rest_is_folded(browser, pages):
    show(browser, pages("small"), 1280)
    tops = browser.execute_script(
        "return ['h1', '#outcome', '#pareto-speed', '#results', '#notes', '#grid']"
        ".map(each => document.querySelector(each).getBoundingClientRect().top + scrollY)"
    )
    assert tops[:2] == sorted(tops[:2])
    assert max(tops[:3]) < 300
    assert tops[2] < tops[3] < tops[4]
    assert not browser.find_element("id", "grid").is_displayed()
    browser.find_element("css selector", "nav a[href='#plots']").click()
    assert browser.find_element("id", "grid").is_displayed()
    readout = browser.find_element("css selector", "#grid .readout")
    assert not readout.is_displayed(), "nothing is kept free for it"


@slow
def test_ratios_memory_and_front_are_there_and_a_pointer_shows_an_interval(browser, pages):
    heads = "return [...document.querySelectorAll('#results thead th')]"
    heads += ".filter(th => th.offsetWidth).map(th => th.innerText.replace(/\\s+/g, ' ').trim())"
    for width in (1280, 1920):
        show(browser, pages("small"), width)
        shown = browser.execute_script(heads)
        assert {"accuracy", "train tok/s", "× train", "memory MiB", "front"} <= set(shown)
    assert "reference" in column(browser, "× train")
    titles = browser.execute_script(
        "return [...document.querySelectorAll('#results td[title]')].map(td => td.title)"
    )
    assert titles
    assert all(re.fullmatch(r"\d+\.\d\d to \d+\.\d\d", title) for title in titles)


@slow
def test_weights_are_told_under_the_pointer_by_a_tap_and_with_the_keyboard(browser, pages):
    show(browser, pages("attention"), 390)
    found, _ = attention_page()
    mean = found.by_layer[1].mean(axis=0)
    details = browser.find_element("id", "details")
    assert browser.find_element("id", "outcome").text == "Predicted: sport (93.1%)"
    assert browser.find_element("id", "most").text == f"{mean.max():.3f}"
    cell = browser.find_element("css selector", "td[data-query='2'][data-key='1']")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", cell)
    ActionChains(browser).move_to_element(cell).perform()
    assert details.text == f"word2 → word1: {mean[2, 1]:.3f}"
    row = browser.find_element("css selector", "span[data-query='3']")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", row)
    point = browser.execute_script("return arguments[0].getBoundingClientRect().toJSON()", row)
    at = {"x": point["x"] + point["width"] / 2, "y": point["y"] + point["height"] / 2}
    for kind, points in (("touchStart", [at]), ("touchEnd", [])):
        event = {"type": kind, "touchPoints": points}
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", event)
    assert f"attends most to {found.tokens[int(mean[3].argmax())]} (" in details.text
    browser.execute_script("document.getElementById('matrix').focus()")
    press(browser, Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    # A tap on a word chooses no column: from the first one, one row down and two to the right.
    # The page has scrolled under the pointer, which rests; it says nothing.
    told = f"word4 → word2: {mean[4, 2]:.3f}"
    assert details.text == told
    browser.execute_script("document.getElementById('matrix').scrollBy(0, 40); scrollBy(0, 40)")
    browser.execute_async_script("setTimeout(arguments[0], 300)")
    assert details.text == told
    assert browser.execute_script("return document.querySelectorAll('b').length") == 0
    assert browser.get_log("browser") == []


@slow
def test_hostile_names_run_nothing(browser, pages):
    open_page(browser, pages("hostile"), 360)
    for option in browser.find_elements("css selector", "#chosen option")[:8]:
        option.click()
    assert browser.execute_script("return document.title").endswith(" on bbc-news")
    assert SCRIPT in browser.find_element("css selector", "#details").text
    assert browser.execute_script("return document.querySelectorAll('img').length") == 0
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 360
    assert browser.get_log("browser") == []


@slow
def test_print_is_light_without_controls_and_with_all_columns_and_motion_can_be_off(page):
    emulate(page, 1000, "dark", media="print")
    assert css(page, "body", "backgroundColor") == "rgb(255, 255, 255)"
    assert css(page, "#choices", "display") == "none"
    assert css(page, ".scroll", "overflowX") == "visible"
    table = "document.querySelector('#results').offsetWidth"
    assert page.execute_script(f"return {table} <= document.body.offsetWidth")
    emulate(page, 1280, motion="reduce")
    assert css(page, "#results tbody tr", "transitionDuration") == "0s"


@slow
def test_on_a_phone_plots_are_whole_and_long_names_too(browser, pages):
    open_page(browser, pages("long"), 360)
    script = "return [...document.querySelectorAll('figure .scroll')].map(s => s.scrollWidth)"
    wide = browser.execute_script(script)
    assert len(wide) == 5
    cut = browser.execute_script(
        "return [...document.querySelectorAll('#results tbody th button')]"
        ".filter(b => b.scrollWidth > b.clientWidth + 1).map(b => b.textContent)"
    )
    assert cut == []
    assert LONG["fused"] in browser.find_element("css selector", "#results tbody").text
