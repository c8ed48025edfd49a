"""The two surfaces of the page that answer from passages, and what comes with them: citations, the steps of the agent,
tokens, the memories' inbox."""

import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from ragcore.documents import CONVERSATIONS, STATUSES
from ragcore.instances import Instance
from ragcore.memories import Memories
from ragcore.runtime import Runtime
from ragcore.triggers.documents import Triggers
from tests.integration.page.conftest import Visit
from tests.support.chat_page import ChatPage
from tests.support.files import Drive, new_instance
from tests.support.grounded import calls, used
from tests.support.page import DESKTOP, PHONE, serious_faults
from tests.support.sandbox import Sandbox

QUESTION = "How do I reset the boiler?"
HEATING = "To reset the boiler, hold the red button for <b>five</b> seconds."
LONG = "Then wait until the lamp is green, which takes a while in winter. " * 4  # more than the agent holds back
HOSTILE = "<img src=x onerror=alert(1)>"
SEARCH, SAVE = "search_knowledge_base", "save_memory"

Json = dict[str, Any]


@pytest.fixture(scope="module")
def instance(runtime: Runtime, until: Callable[..., Any]) -> Instance:
    """One for all: to index its documents takes longer than to ask."""
    made = new_instance(runtime)
    Triggers(runtime.store, made).create_for_index()
    drive = Drive(runtime, made)
    files = [drive.file("/Home/Cellar/heating.md", HEATING), drive.file("/Home/stove.txt", "The stove has no reset.")]
    drive.assistant(drive.folder("/Home"), name="Home")

    def statuses() -> list[Any]:
        return [runtime.store.get_or_new(made, STATUSES, file["_id"]).get("status") for file in files]

    until(lambda: statuses() == ["success"] * len(files))
    return made


@pytest.fixture
def memories(runtime: Runtime, instance: Instance) -> Memories:
    return Memories(runtime.store, runtime.config, instance)


def test_an_ask_cites_its_passages(visit: Visit, sandbox: Sandbox) -> None:
    chat = ChatPage(visit())
    page, middle = chat.page, uuid.uuid4().hex
    page.get_by_label("Chat", exact=True).focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_label("Ask", exact=True)).to_be_checked()
    expect(page.get_by_text("Answers come from your files and memories alone")).to_be_visible()
    expect(page.get_by_role("button", name="My files")).to_be_hidden()  # these are the chat's options
    sandbox.script({"content": "Hold the *red* button [1"}, {"content": "]. "}, {"hold": middle},
                   {"content": "There is none on the stove [2][9], `x[1]`."}, used(2300, 110))  # fmt: skip
    chat.ask(QUESTION)
    expect(chat.text).to_contain_text("Hold the red button [1].")
    page.reload()
    expect(chat.text).to_contain_text("Hold the red button [1].")
    sandbox.release(middle)
    chat.ended()
    for _ in ("as it came", "as it is saved"):
        cited = chat.text.get_by_role("button")
        expect(cited).to_have_text(["1", "2"])
        expect(chat.text).to_have_text("Hold the red button 1. There is none on the stove 2, x[1].")
        expect(chat.answer.locator(".chip .number")).to_have_text(["1", "2"])
        expect(chat.answer).to_contain_text("· 2.4K tokens")
        expect(page.locator(".composer .surface")).to_have_text("Ask")
        page.reload()
    assert serious_faults(page) == []

    cited.and_(page.get_by_role("button", name="heating.md")).press("Enter")
    dialog = page.get_by_role("dialog", name="heating.md")
    expect(dialog.locator(".passage")).to_have_text(HEATING)
    expect(dialog).to_contain_text("/Home/Cellar · p. 1")
    expect(dialog.get_by_role("link", name="Open the file")).to_have_attribute("href", re.compile("^#/file/"))
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.locator(".cite:focus")).to_have_count(1)

    sandbox.script({"content": "Yes [1]."})
    with page.expect_request("**/api/rag/ask"):  # the conversation stays where it was begun
        chat.ask("Is the stove to be reset?")
    expect(chat.text).to_have_text("Yes 1.")
    expect(chat.conversations.filter(has_text=QUESTION)).to_have_attribute("aria-current", "page")


def test_a_turn_of_the_agent_shows_its_steps(visit: Visit, sandbox: Sandbox) -> None:
    chat = ChatPage(visit())
    page, middle = chat.page, uuid.uuid4().hex
    page.get_by_label("Agent", exact=True).check()
    sandbox.fault(route="/search/", delay=1.5, times=1)
    sandbox.script(calls((SEARCH, {"query": "boiler"}), (SAVE, {"text": f"Ada resets {HOSTILE}", "confidence": 1}),
                         (SAVE, {"text": ""})), used(900, 60))  # fmt: skip
    sandbox.script(calls(("get_workspace_stats", {})))  # its call begins with the same id again
    sandbox.script({"content": f"Hold the red button [1]. {LONG}"}, {"hold": middle}, {"content": "So."}, used(30, 10))
    chat.ask(QUESTION)
    steps = chat.answer.get_by_role("list", name="Steps").locator("summary")
    expect(steps.nth(0)).to_have_text("Running: Searchboiler")
    expect(steps.nth(1)).to_have_text(f"Done: MemoryAda resets {HOSTILE}")
    expect(steps.nth(2)).to_contain_text("Failed: Memory")
    expect(steps.nth(0)).to_have_text("Done: Searchboiler")
    expect(chat.text).to_contain_text("Hold the red button [1].")
    expect(page.get_by_role("link", name="Memories 1 waits for your word")).to_be_visible()  # nobody asked to remember
    page.reload()
    expect(steps).to_have_count(4)
    steps.nth(0).press("Enter")
    expect(page.locator(".step dl").first).to_contain_text("heating.md")
    sandbox.release(middle)
    chat.ended()
    expect(chat.text.get_by_role("button")).to_have_text(["1"])
    expect(chat.answer.locator(".chip .number")).to_have_text(["1"])
    expect(chat.answer).to_contain_text("· 1K tokens")
    expect(chat.answer.locator("img, b")).to_have_count(0)
    assert serious_faults(page) == []

    sandbox.fault(route="/search/", delay=20, times=1)
    sandbox.script(calls((SEARCH, {"query": "stove"})))
    chat.ask("And the stove?")
    expect(chat.answer.locator(".step")).to_have_class("step call")
    chat.stop.click()
    expect(chat.answer.locator(".step")).to_have_class("step stopped")
    expect(chat.answer).to_contain_text("Try again")
    expect(chat.stop).to_be_hidden()


def test_memories_are_reviewed(visit: Visit, memories: Memories) -> None:
    for memory in memories.all():
        memories.delete(memory.id)
    texts = ["Ada lives in Oslo.", f"{HOSTILE} is no name.", "W" * 1500, "Paul rents the flat in Lyon."]
    for text in texts:
        memories.remember(text, 0.9, {"conversation": "c", "surface": "agent"}, asked=False)
    page = visit(viewport=PHONE)
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="Memories 4 wait for your word").click()
    inbox, kept = page.locator(".memory"), page.locator(".part").last
    expect(inbox).to_have_count(4)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    assert serious_faults(page) == []

    inbox.filter(has_text="Oslo").get_by_role("button", name="Edit").click()
    box = page.get_by_role("dialog").get_by_role("textbox")
    expect(box).to_be_focused()
    box.fill("Ada lives in Bergen.")
    page.get_by_role("button", name="Save").click()
    inbox.filter(has_text="Bergen").get_by_role("button", name="Approve").click()
    expect(kept.locator(".memory p")).to_have_text(["Ada lives in Bergen."])
    inbox.filter(has_text=HOSTILE).get_by_role("button", name="Reject").press("Enter")
    expect(inbox.filter(has_text=HOSTILE)).to_have_count(0)
    expect(page.locator("h2:focus")).to_have_text("Waiting for your word")  # what had the focus is gone
    expect(page.locator("#sidebar .number")).to_have_text("2")
    assert {(memory.text[:20], memory.status) for memory in memories.all()} == {
        ("Ada lives in Bergen.", "active"), (HOSTILE[:20], "rejected"),
        ("W" * 20, "pending"), ("Paul rents the flat ", "pending"),
    }  # fmt: skip

    memories.approve(next(memory.id for memory in memories.of_status("pending") if "Paul" in memory.text))  # elsewhere
    expect(kept.locator(".memory p")).to_have_text([texts[3], "Ada lives in Bergen."])
    kept.get_by_role("button", name="Delete “Paul rents").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(kept.locator(".memory p")).to_have_text(["Ada lives in Bergen."])
    page.reload()
    expect(inbox).to_have_count(2)


def test_odd_sources_and_steps_are_text(visit: Visit, runtime: Runtime, instance: Instance, home: str) -> None:
    odd = {"number": 1, "id": "x", "sourceType": "document", "folder": "/" + "f" * 300, "filename": "n" * 300 + HOSTILE,
           "passage": HOSTILE * 50, "cited": True}  # fmt: skip
    sources = [
        odd,
        odd | {"number": "2", "passage": {"a": 1}},
        {"number": 3, "sourceType": "memory", "passage": HOSTILE},
    ]
    answer = {"id": "a", "role": "assistant", "content": "One [1], [2] [3] [4] [1](https://example.net/) [999999999].",
              "sources": sources, "usage": {"total_tokens": "many"}}  # fmt: skip
    messages = [{"id": "q", "role": "user", "content": "How?"}, answer]
    saved = runtime.store.save(instance, CONVERSATIONS, {"surface": "ask", "messages": messages})
    page = visit(viewport=PHONE)
    page.goto(f"{home}/#/c/{saved['_id']}")
    chat = ChatPage(page)
    expect(chat.text).to_have_text("One 1, [2] 3 [4] 1 [999999999].")
    expect(chat.text.get_by_role("button")).to_have_count(2)
    expect(chat.answer.locator(".chip")).to_have_count(3)
    expect(chat.answer).not_to_contain_text("tokens")
    chat.text.get_by_role("button").first.click()
    expect(page.locator(".passage")).to_have_text(HOSTILE * 50)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    page.keyboard.press("Escape")
    chat.text.get_by_role("button").last.click()
    page.get_by_role("dialog", name="Memory").get_by_role("link", name="Open the memories").click()
    expect(page.locator("dialog")).to_have_count(0)
    expect(page.get_by_role("heading", name="Memories")).to_be_visible()

    shown = shown_odd(page)
    assert shown["links"] == ["https://example.net/", None, None]
    assert shown["steps"] == ["Running: " + HOSTILE, "other: " + HOSTILE]
    assert shown["images"] == 0
    page.set_viewport_size(DESKTOP)


def shown_odd(page: Page) -> Json:
    """What the page makes of events that no server of ours sends."""
    found: Json = page.evaluate(
        """async (hostile) => {
      const { spentCard } = await import('/static/chat/spent.js')
      const { Steps } = await import('/static/chat/steps.js')
      const urls = ['https://example.net/', 'javascript:alert(1)', { a: 1 }]
      const cards = urls.map((upgradeUrl) => spentCard({ resetAt: 'never', plan: 5, upgradeUrl }))
      const steps = new Steps()
      steps.take({ name: hostile, status: 'call', detail: 'none' })
      steps.take({ id: 'x', name: 'x', status: 'call' })
      steps.take({ id: 'x', name: hostile, status: 'other', detail: { query: 5, text: [5, null] } })
      const all = document.createElement('div')
      all.append(...cards, steps.element)
      return {
        links: cards.map((card) => card.querySelector('a')?.href ?? null),
        steps: [...steps.element.querySelectorAll('summary')].map((step) => step.textContent),
        images: all.querySelectorAll('img').length
      }
    }""",
        HOSTILE,
    )
    return found
