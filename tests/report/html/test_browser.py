"""The page in Chromium: with mouse and keyboard, wide and narrow, light and dark.

Screenshots go to the directory named by ZOO_SCREENSHOTS, or to pytest's temporary one.
"""

from __future__ import annotations

import base64
import os
import shutil
from pathlib import Path

import pytest
from hostile import LONG, SCRIPT
from rendered import rendered

from zoo.report.write import PAGE

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no chromium with chromedriver (Debian: chromium-driver)"
)


@pytest.fixture(scope="module")
def browser():
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folders = {name: tmp_path_factory.mktemp(name) for name in ("small", "hostile", "long")}
    for name, folder in folders.items():
        (folder / PAGE).write_text(rendered(name).page, encoding="utf-8")
    return folders


@pytest.fixture
def page(browser, pages):
    """The page, newly opened at desktop width in light mode; the console must stay empty."""
    emulate(browser, 1280)
    browser.get((pages["small"] / PAGE).as_uri())
    yield browser
    assert browser.get_log("browser") == []


def emulate(browser, width, scheme="light", media="", motion="no-preference"):
    features = [("prefers-color-scheme", scheme), ("prefers-reduced-motion", motion)]
    emulated = {"media": media, "features": [{"name": n, "value": v} for n, v in features]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", emulated)
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def screenshot(browser, name, tmp_path_factory):
    folder = Path(os.environ.get("ZOO_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    taken = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
    (folder / f"{name}.png").write_bytes(base64.b64decode(taken["data"]))
    assert (folder / f"{name}.png").stat().st_size > 10_000


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
    return browser.execute_script(
        "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]",
        selector,
        wanted,
    )


def press(browser, *keys):
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


def focused(browser, what="return document.activeElement.textContent.trim()"):
    return browser.execute_script(what)


def test_clicking_a_head_sorts_and_clicking_again_reverses(page):
    memory = head(page, "memory MiB")
    memory.click()
    numbers = [float(text) for text in column(page, "memory MiB") if text]
    assert numbers == sorted(numbers)
    assert len(numbers) > 15
    assert memory.find_element("xpath", "..").get_attribute("aria-sort") == "ascending"
    memory.click()
    assert [float(text) for text in column(page, "memory MiB") if text] == numbers[::-1]
    assert column(page, "memory MiB")[-1] == "", "rows without a number come last both ways"
    assert memory.find_element("xpath", "..").get_attribute("aria-sort") == "descending"
    head(page, "pe").click()
    assert memory.find_element("xpath", "..").get_attribute("aria-sort") == "none"
    names = [text for text in column(page, "pe") if text]
    assert names == sorted(names)


def test_filters_keep_the_chosen_components(page):
    box = {
        name: page.find_element("xpath", f"//fieldset[legend='{axis}']//label[bdi='{name}']/input")
        for axis, name in (("pe", "rope"), ("pe", "sin"), ("norm", "layer"))
    }
    everything = len(column(page, "pe"))
    box["rope"].click()
    assert set(column(page, "pe")) == {"rope", ""}
    box["sin"].click()
    assert set(column(page, "pe")) == {"rope", "sin", ""}
    box["layer"].click()
    assert set(column(page, "norm")) == {"layer", ""}
    shown = len(column(page, "pe"))
    count = page.find_element("id", "count")
    assert count.text == f"{shown} of {everything} rows"
    assert page.find_elements("css selector", "#pareto-speed .mark.out")
    page.find_element("id", "baselines").click()
    assert "" not in column(page, "pe")
    page.find_element("css selector", "#filters button[type=reset]").click()
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(page, 10).until(lambda _: len(column(page, "pe")) == everything)
    page.find_element("id", "only-ok").click()
    assert set(column(page, "status")) == {"ok"}


def test_the_row_under_the_pointer_is_described_and_marked_in_the_table(page):
    from selenium.webdriver.common.action_chains import ActionChains

    mark = page.find_element("css selector", "#grid .mark[data-row]")
    title = page.execute_script("return arguments[0].querySelector('title').textContent", mark)
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", mark)
    ActionChains(page).move_to_element(mark).perform()
    readout = page.find_element("css selector", "#grid .readout")
    assert readout.text == title
    assert "accuracy 0." in title
    row = mark.get_attribute("data-row")
    assert "here" in page.find_element("id", f"line-{row}").get_attribute("class")
    ActionChains(page).click(mark).perform()
    assert page.find_element("id", "chosen").get_attribute("value") == row
    assert page.find_element("css selector", "#details p").text == title


def test_pointing_close_to_a_marker_is_enough(page):
    from selenium.webdriver.common.action_chains import ActionChains

    mark = page.find_element("css selector", "#pareto-speed .mark[data-row]")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", mark)
    ActionChains(page).move_to_element_with_offset(mark, 7, 3).perform()
    assert ": " in page.find_element("css selector", "#pareto-speed .readout").text


def test_everything_works_with_the_keyboard_alone(page):
    from selenium.webdriver.common.keys import Keys

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
    page.execute_script("document.querySelector('#pareto-speed .scroll').focus()")
    press(page, Keys.TAB)
    first = focused(page, "return document.activeElement.dataset.row")
    press(page, Keys.ARROW_RIGHT)
    second = focused(page, "return document.activeElement.dataset.row")
    assert first is not None
    assert second not in (None, first)
    assert page.find_element("css selector", "#pareto-speed .readout").text != ""
    press(page, Keys.ENTER)
    assert page.find_element("id", "chosen").get_attribute("value") == second
    press(page, Keys.TAB)
    assert focused(page, "return document.activeElement.closest('figure').id") == "pareto-memory"
    # A row's button leads to its details.
    page.execute_script("document.querySelector('#results .pick').focus()")
    press(page, Keys.ENTER)
    assert focused(page) == "One row"


def test_a_chosen_row_shows_its_classes_seeds_and_command(page):
    from selenium.webdriver.support.select import Select

    select = Select(page.find_element("id", "chosen"))
    select.select_by_visible_text("fused+rope+rms")
    tables = [e.text for e in page.find_elements("css selector", "#details h3")]
    assert tables == ["Per class, mean over seeds", "Confusion matrix, sum over seeds", "Each seed"]
    counts = [int(e.text) for e in page.find_elements("css selector", "#confusion td")]
    assert len(counts) == 25
    assert sum(counts) == 3 * 200
    code = page.find_element("css selector", "#details code").text
    assert code == "zoo bench --attention fused --pe rope --seeds 3 --data data/bbc-news"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_overflows_at_any_width_in_light_or_dark_mode(
    page, pages, width, scheme, tmp_path_factory
):
    emulate(page, width, scheme)
    page.get((pages["small"] / PAGE).as_uri())
    wide = page.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width
    light = css(page, "body", "backgroundColor") == "rgb(255, 255, 255)"
    assert light == (scheme == "light")
    # The background of the plots is that of the page.
    svg = page.execute_script(
        "return getComputedStyle(document.querySelector('#grid svg [id$=patch_1] path')).fill"
    )
    assert svg == css(page, "body", "backgroundColor")
    screenshot(page, f"report-{width}-{scheme}", tmp_path_factory)


def test_print_is_light_without_controls_and_with_all_columns(page, tmp_path_factory):
    emulate(page, 1000, "dark", media="print")
    assert css(page, "body", "backgroundColor") == "rgb(255, 255, 255)"
    assert css(page, "#filters", "display") == "none"
    assert css(page, ".scroll", "overflowX") == "visible"
    assert page.execute_script(
        "return document.querySelector('#results').offsetWidth <= document.body.offsetWidth"
    )
    screenshot(page, "report-print", tmp_path_factory)


def test_reduced_motion_has_no_transitions(page):
    emulate(page, 1280, motion="reduce")
    assert css(page, "#results tbody tr", "transitionDuration") == "0s"


def test_on_a_phone_plots_are_whole_and_the_first_metric_is_visible(browser, pages):
    emulate(browser, 360)
    browser.get((pages["small"] / PAGE).as_uri())
    wide = browser.execute_script(
        "return [...document.querySelectorAll('figure .scroll')].map(s => s.scrollWidth)"
    )
    assert len(wide) == 5
    assert max(wide) <= 360
    left = browser.execute_script(
        """
        const heads = [...document.querySelectorAll("#results thead th")];
        return heads.find(th => th.textContent.includes("accuracy")).getBoundingClientRect().left;
        """
    )
    assert left < 360


@pytest.mark.parametrize("run", ["small", "long"])
def test_no_title_or_axis_label_is_cut_off_or_overlaps_another(browser, pages, run):
    emulate(browser, 1280)
    browser.get((pages[run] / PAGE).as_uri())
    problems = browser.execute_script(
        """
        const apart = (a, b) => a.right < b.left + 1 || b.right < a.left + 1
          || a.bottom < b.top + 2 || b.bottom < a.top + 2;
        const wrong = [];
        document.querySelectorAll("figure svg").forEach(svg => {
          const whole = svg.getBoundingClientRect();
          const texts = [...svg.querySelectorAll("text")].map(t => [t, t.getBoundingClientRect()]);
          texts.forEach(([text, box]) => {
            if (box.left < whole.left - 1 || box.right > whole.right + 1
                || box.top < whole.top - 1 || box.bottom > whole.bottom + 1)
              wrong.push("cut: " + text.textContent);
          });
          const level = texts.filter(([text]) => text.closest("[id*='matplotlib.axis']")
            && !/rotate\\(-?[1-9]/.test(text.getAttribute("transform") || ""));
          level.forEach(([one, a], i) => level.slice(i + 1).forEach(([other, b]) => {
            if (!apart(a, b)) wrong.push(one.textContent + " over " + other.textContent);
          }));
        });
        return wrong;
        """
    )
    assert problems == []


def test_a_long_name_is_whole_in_the_table(browser, pages):
    emulate(browser, 360)
    browser.get((pages["long"] / PAGE).as_uri())
    cut = browser.execute_script(
        "return [...document.querySelectorAll('#results tbody th button')]"
        ".filter(b => b.scrollWidth > b.clientWidth + 1).map(b => b.textContent)"
    )
    assert cut == []
    assert LONG["fused"] in browser.find_element("css selector", "#results tbody").text


def test_hostile_names_run_nothing(browser, pages):
    emulate(browser, 360)
    browser.get((pages["hostile"] / PAGE).as_uri())
    for option in browser.find_elements("css selector", "#chosen option")[:8]:
        option.click()
    assert browser.execute_script("return document.title").startswith("bbc-news")
    assert SCRIPT in browser.find_element("css selector", "#details").text
    assert browser.execute_script("return document.querySelectorAll('img').length") == 0
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 360
    assert browser.get_log("browser") == []
