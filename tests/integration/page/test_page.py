from playwright.sync_api import Page

from tests.support.page import serious_faults


def test_the_page_answers(page: Page) -> None:
    assert page.evaluate("document.contentType") == "text/html"
    assert serious_faults(page) == []
