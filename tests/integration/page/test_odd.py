"""The page with documents, texts and moments that nobody thought of."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from ragcore.documents import ASSISTANTS, CONVERSATIONS, FILES
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.support.chat_page import ChatPage
from tests.support.page import PHONE, Faults
from tests.support.sandbox import Sandbox

Json = dict[str, Any]
Saved = Callable[[Any], str]
Visit = Callable[..., Page]

DATE = "2026-01-01T00:00:00Z"
ODD_SOURCES = [None, 5, {}, {"sourceType": "web", "url": "javascript:alert(1)"}, {"filename": ["<b>"], "chunkUrl": 5}]
HOSTILE = "<img src=x onerror=alert(1)>"
ODD_ACTIONS: list[Any] = [
    "none",
    {"name": 5, "params": []},
    {"name": "other", "status": "done", "params": {"constructor": HOSTILE, "toString": None}},
    {"name": "create_note", "params": {"title": 5, "content": {"a": [HOSTILE]}}},
    {"name": "draft_email", "params": {"to": "Claire", "subject": None, "body": None}},
    {"name": "draft_email", "status": "done", "url": "javascript:alert(1)", "params": {"to": "Claire", "subject": 4}},
    {"name": "search_files", "status": "done", "params": None},
]


def question(**fields: Any) -> Json:
    return {"id": "q", "role": "user", "content": "How?", "createdAt": DATE} | fields


def answer(**fields: Any) -> Json:
    return {"id": "a", "role": "assistant", "content": "Fine", "createdAt": DATE} | fields


@pytest.fixture
def chat(page: Page) -> ChatPage:
    return ChatPage(page)


@pytest.fixture
def saved(runtime: Runtime, instance: Instance) -> Saved:
    """The id of a conversation that some other client wrote."""

    def save(messages: Any) -> str:
        doc = {"messages": messages, "cozyMetadata": {"updatedAt": DATE}}
        conversation_id: str = runtime.store.save(instance, CONVERSATIONS, doc)["_id"]
        return conversation_id

    return save


def test_odd_messages_do_not_hide_the_others(chat: ChatPage, saved: Saved, home: str) -> None:
    odd: list[list[Any]] = [
        [None, 1, "x", [], {}, {"id": "y", "role": {"a": 1}}],
        [question(id="q1", content=["x"], createdAt=[]), answer(id="a1", content={"a": 1}, reasoning=5, createdAt={})],
        [question(id="q2"), answer(id="a2", sources="abc"), question(id="q3"), answer(id="a3", sources=ODD_SOURCES)],
        *([question(id=f"q-{n}"), answer(id=f"a-{n}", action=one)] for n, one in enumerate(ODD_ACTIONS)),
    ]
    messages = [message for some in odd for message in some]
    chat.page.goto(f"{home}/#/c/{saved([*messages, question(content='And now?'), answer(content='The last')])}")
    expect(chat.text).to_have_text("The last")
    chat.log.evaluate("box => box.scrollTop = 0")  # the earlier ones are added then
    expect(chat.answers).to_have_count(4 + len(ODD_ACTIONS))
    expect(chat.page.locator(".below .error")).to_be_hidden()
    expect(chat.page.get_by_label("Title")).to_have_value("5")
    expect(chat.page.get_by_label("To", exact=True)).to_have_value("Claire")
    expect(chat.page.locator(".chip")).to_have_count(3)
    expect(chat.log.locator('[href^="javascript"], img')).to_have_count(0)
    chat.page.goto(f"{home}/#/c/{saved('no list')}")
    expect(chat.answers).to_have_count(0)
    expect(chat.page.locator(".below .error")).to_be_hidden()


def test_a_text_that_is_nested_too_deep_is_shown_as_it_was_written(chat: ChatPage, saved: Saved, home: str) -> None:
    deep = ">" * 20_000 + " end"
    chat.page.goto(f"{home}/#/c/{saved([question(), answer(id='b'), question(id='p'), answer(content=deep)])}")
    expect(chat.text).to_have_text(deep)
    expect(chat.answers.first.locator(".text")).to_have_text("Fine")


def test_who_goes_elsewhere_while_a_question_is_sent_stays_there(
    chat: ChatPage, saved: Saved, home: str, sandbox: Sandbox
) -> None:
    other = saved([question(), answer()])
    chat.page.reload()
    held: list[Route] = []
    chat.page.route("**/ai/chat/conversations/*", lambda route: held.append(route))
    sandbox.script({"content": "Late"})
    chat.box.fill("Slow?")
    with chat.page.expect_request("**/ai/chat/conversations/*"):
        chat.box.press("Enter")
    chat.conversations.first.click()
    expect(chat.text).to_have_text("Fine")
    with chat.page.expect_response("**/ai/chat/conversations/*"):
        held[0].continue_()
    expect(chat.conversations).to_have_text(["Slow?", "How?"])
    expect(chat.conversations.last).to_have_attribute("aria-current", "page")
    assert chat.page.url == f"{home}/#/c/{other}"


def test_who_signs_in_again_has_one_page(chat: ChatPage, saved: Saved, home: str, faults: Faults) -> None:
    faults.allow("401")
    # both lists are read: nothing asks by itself any more
    expect(chat.sidebar.get_by_text("None yet")).to_have_count(2)
    chat.page.goto(f"{home}/#/c/{saved([question(), answer()])}")
    expect(chat.text).to_have_text("Fine")
    expect(chat.conversations).to_have_count(1)
    token = chat.page.evaluate("localStorage.getItem('ragcore.token')")
    chat.page.evaluate("localStorage.setItem('ragcore.token', 'old')")  # as if it had expired
    chat.conversations.first.hover()
    chat.sidebar.get_by_role("button", name="Rename").click()
    chat.page.keyboard.type("New name")
    chat.page.keyboard.press("Enter")
    form = chat.page.get_by_label("Link or token")
    form.fill(token)
    form.press("Enter")
    expect(chat.text).to_have_text("Fine")
    chat.page.goto(f"{home}/#/file/nothing")
    expect(chat.page.locator("dialog")).to_have_count(1)


@pytest.mark.parametrize("segment", ["", "%", "a%3Fb%23c%25", "%22%3E%3Cimg%20src%3Dx%3E"])
def test_any_id_in_the_address_can_be_talked_in(
    segment: str, chat: ChatPage, home: str, sandbox: Sandbox, faults: Faults
) -> None:
    faults.allow("404")
    sandbox.script({"content": "Here"})
    chat.page.goto(f"{home}/#/c/{segment}")
    chat.ask("Where?")
    chat.ended()
    chat.page.reload()
    expect(chat.text).to_have_text("Here")


def test_an_odd_assistant_is_shown_and_widens_nothing(
    visit: Visit, runtime: Runtime, instance: Instance, home: str
) -> None:
    related = {"knowledgeBase": {"data": [None, {"_id": 5, "_type": FILES}]}}
    odd: Json = {"name": HOSTILE + "W" * 300, "icon": 5, "prompt": {}, "relationships": related, "cozyMetadata": "no"}
    assistant_id = runtime.store.save(instance, ASSISTANTS, odd)["_id"]
    page = visit(viewport=PHONE)
    page.goto(f"{home}/#/a/{assistant_id}")
    expect(page.get_by_label("Name")).to_have_value(odd["name"])
    expect(page.locator("main").get_by_role("alert")).to_have_text("This folder does not exist any more.")
    page.get_by_role("button", name="Menu").click()
    expect(page.locator("#sidebar a[aria-current]")).to_contain_text(HOSTILE)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
