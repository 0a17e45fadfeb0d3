"""Chromium for tests of pages: a driver, and what kind of screen it shows them on."""

import atexit
import functools
import shutil
from typing import Any

import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
needs_chromium = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no chromium with chromedriver (Debian: chromium-driver)"
)


@functools.cache
def started() -> Any:
    """The session's browser: without a window, and with its console logged."""
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    atexit.register(driver.quit)
    return driver


def emulate(
    browser: Any,
    width: int,
    scheme: str = "light",
    media: str = "",
    motion: str = "no-preference",
    height: int = 900,
) -> None:
    """Show pages on a screen of this size in pixels; a narrow one is a telephone's."""
    features = [("prefers-color-scheme", scheme), ("prefers-reduced-motion", motion)]
    emulated = {"media": media, "features": [{"name": n, "value": v} for n, v in features]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", emulated)
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
