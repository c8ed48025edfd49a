"""What is left of the day's AI budget, and that it is spent, on the page."""

import re

from playwright.sync_api import expect

from ragcore.instances import Instance
from ragcore.memories import Memories
from ragcore.runtime import Runtime
from tests.integration.page.conftest import Visit
from tests.support.chat_page import ChatPage
from tests.support.grounded import used
from tests.support.page import PHONE, serious_faults
from tests.support.sandbox import Sandbox


def test_what_is_left_is_told_and_a_spent_budget_too(
    visit: Visit, runtime: Runtime, sandbox: Sandbox, instance: Instance
) -> None:
    runtime.instances.set_flags(instance.domain, {"ai.plan": "small"})  # 1000 tokens, as in tests/conftest.py
    Memories(runtime.store, runtime.config, instance).remember("The boiler is red.", 1, {}, asked=True)
    chat = ChatPage(visit())
    left = chat.page.locator(".left")
    expect(left).to_be_hidden()
    sandbox.script({"content": "Yes [1]."}, used(500, 150))
    chat.page.get_by_label("Ask", exact=True).check()
    chat.ask("Is the boiler red?")
    expect(left).to_have_text("AI left 35%")
    expect(chat.answer.locator(".chip")).to_have_text(["1Memory"])
    chat.page.reload()
    expect(left).to_have_text("AI left 35%")
    sandbox.script({"content": "Yes [1]."}, used(900, 150))
    chat.ask("Is the boiler red indeed?")
    expect(left).to_have_text("AI left 0%")
    chat.ask("Is the boiler green?")
    card = chat.answer.get_by_role("alert")
    expect(card).to_contain_text("The AI budget of the day is spent")
    expect(card).to_contain_text(re.compile(r"It is yours again from \d"))
    expect(card.get_by_role("link")).to_have_attribute("href", "https://example.net/upgrade")
    assert serious_faults(chat.page) == []
    chat.page.set_viewport_size(PHONE)
    assert chat.page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
