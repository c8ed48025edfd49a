"""The Chromium of the machine, which playwright drives. As a program: says whether one starts."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import which

from playwright.sync_api import Browser, Error, Playwright, sync_playwright

NAMES = ("chromium", "google-chrome-stable", "google-chrome", "chromium-browser")
# root has no sandbox in a container, whose /dev/shm is small too
ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage"]


@contextmanager
def chromium() -> Iterator[Browser]:
    """The first that starts: some are only the name of a package to come."""
    with sync_playwright() as playwright:
        browser = _first(playwright)
        yield browser
        browser.close()


def _first(playwright: Playwright) -> Browser:
    for path in filter(None, map(which, NAMES)):
        try:
            return playwright.chromium.launch(executable_path=path, args=ARGUMENTS, timeout=20_000)
        except Error:
            continue
    raise LookupError("no Chromium starts here")


if __name__ == "__main__":
    try:
        with chromium():
            pass
    except LookupError as error:
        sys.exit(str(error))
