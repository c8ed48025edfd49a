"""The chat in a browser: what one sees, and what one can do with it."""

import uuid
from collections.abc import Callable
from typing import Any

import psutil
import pytest
from playwright.sync_api import Page, expect

from deploy.local.stack import Stack
from ragcore.documents import CONVERSATIONS, STATUSES
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.support.chat_page import ChatPage
from tests.support.files import Drive
from tests.support.page import DESKTOP, PHONE, Faults, serious_faults
from tests.support.sandbox import Sandbox

Visit = Callable[..., Page]
Until = Callable[..., Any]

MARKDOWN = """## A plan

- eggs
- **milk**

1. first

| Day | Food |
|---|---|
| Monday | rice |

```python
print("ok")
```

Inline `code` and [a link](https://example.org/a).
"""
HOSTILE = """
<img src="https://evil.example/a.png" onerror="alert(1)"><script>alert(2)</script>

![picture](https://evil.example/b.png)

[dead](javascript:alert(3)) and <b>bold?</b>
"""
WEB = {
    "source_type": "web",
    "url": "https://example.org/rice",
    "title": "All about rice",
    "snippet": "Rice is a grain.",
}

# what can have the focus and is in sight, each with a name of its own
FOCUSABLE = """() => {
  const all = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
  return all.filter((one) => !one.disabled && one.checkVisibility({ visibilityProperty: true })).map((one, place) => {
    one.dataset.place = `${place} ${one.tagName} ${one.ariaLabel ?? one.textContent}`
    return one.dataset.place
  })
}"""
FOCUSED = """() => {
  const one = document.activeElement
  const around = [one, one.closest('.composer')].filter(Boolean)
  return [one.dataset.place ?? '', around.some((box) => getComputedStyle(box).outlineStyle !== 'none')]
}"""
DATE = "date => new Date(date).toLocaleString('fr-CA', {dateStyle: 'medium', timeStyle: 'short'})"
NAMES = """() => [...document.querySelectorAll('[aria-label], [title], [placeholder]')]
  .flatMap((one) => [one.ariaLabel, one.title, one.placeholder].filter(Boolean))"""


@pytest.fixture
def chat(page: Page) -> ChatPage:
    return ChatPage(page)


@pytest.fixture
def drive(runtime: Runtime, instance: Instance) -> Drive:
    return Drive(runtime, instance)


@pytest.fixture
def hold(sandbox: Sandbox) -> Callable[..., str]:
    """Scripts an answer that is held in its middle: the name of the hold."""

    def script(before: str, after: str, *first: dict[str, Any], **more: Any) -> str:
        name = uuid.uuid4().hex
        sandbox.script(*first, {"content": before}, {"hold": name}, {"content": after}, **more)
        return name

    return script


Hold = Callable[..., str]


def test_an_answer_is_shown_as_it_comes(chat: ChatPage, sandbox: Sandbox, hold: Hold) -> None:
    middle = hold(MARKDOWN, HOSTILE, {"reasoning": "People need *food*."}, sources=[WEB, WEB | {"url": "javascript:1"}])
    chat.ask("What shall I eat?")
    expect(chat.text.locator("h2")).to_have_text("A plan")
    expect(chat.text.locator("table td").first).to_have_text("Monday")
    assert chat.answer.get_attribute("aria-busy") == "true"

    thoughts = chat.answer.locator(".thought")
    expect(thoughts).to_be_hidden()
    chat.page.get_by_text("Thoughts").click()
    expect(thoughts.locator("em")).to_have_text("food")

    sandbox.release(middle)
    chat.ended()
    expect(chat.text.locator("ul > li")).to_have_text(["eggs", "milk"])
    expect(chat.text.locator("ol > li")).to_have_text(["first"])
    expect(chat.text.locator("pre code")).to_have_text('print("ok")\n')
    expect(chat.text.get_by_role("link", name="a link")).to_have_attribute("href", "https://example.org/a")
    expect(chat.text).to_contain_text('<img src="https://evil.example/a.png" onerror="alert(1)"><script>alert(2)')
    expect(chat.text).to_contain_text("<b>bold?</b>")
    expect(chat.text.locator("img, script, b")).to_have_count(0)
    expect(chat.text.get_by_text("dead")).not_to_have_attribute("href", "javascript:alert(3)")
    assert chat.text.locator('[href^="javascript"]').count() == 0

    web = chat.answer.get_by_role("listitem").get_by_role("link", name="All about rice")
    expect(web).to_have_attribute("href", WEB["url"])
    expect(web).to_have_attribute("rel", "noopener noreferrer")
    expect(chat.answer.locator(".chip")).to_have_count(2)  # the second one leads nowhere
    expect(chat.answer.locator('[href^="javascript"]')).to_have_count(0)


def test_a_source_names_its_place_and_opens_its_passage(
    chat: ChatPage, runtime: Runtime, drive: Drive, instance: Instance, until: Until, sandbox: Sandbox
) -> None:
    passage = "The yellow tram number 28 climbs up to the castle in Lisbon."
    file = drive.file("/Trips/Lisbon/Trams.md", passage)
    drive.assistant(drive.folder("/Trips"), name="Guide")
    until(lambda: runtime.store.get_or_new(instance, STATUSES, file["_id"]).get("status") == "success")
    chat.page.get_by_label("Assistant", exact=True).select_option("Guide")
    sandbox.script({"content": "Tram 28."})
    chat.ask("Which tram climbs up to the castle?")
    chat.ended()
    chip = chat.answer.get_by_role("button", name="Trams.md")
    expect(chip).to_have_text("1Trams.mdp. 1")
    expect(chip).to_have_attribute("title", "/Trips/Lisbon/Trams.md")

    chip.press("Enter")
    dialog = chat.page.get_by_role("dialog", name="Trams.md")
    expect(dialog.locator(".passage")).to_contain_text(passage)
    expect(dialog).to_contain_text("/Trips/Lisbon · p. 1")
    expect(dialog.get_by_role("link", name="Open the file")).to_have_attribute("href", f"#/file/{file['_id']}")
    chat.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(chip).to_be_focused()

    # the conversation is this assistant's, also for who opens it later
    chat.page.reload()
    chosen = chat.page.get_by_label("Assistant", exact=True)
    expect(chosen).to_be_disabled()
    expect(chosen.locator("option:checked")).to_have_text("Guide")
    expect(chat.answer.locator(".chip")).to_have_text(["1Trams.mdp. 1"])


def test_an_answer_is_stopped_by_the_button_and_by_esc(
    chat: ChatPage, sandbox: Sandbox, hold: Hold, until: Until
) -> None:
    def closed() -> int:
        return sum(call["closed_early"] for call in sandbox.calls("completions"))

    for stopped, stop in enumerate((lambda: chat.stop.click(), lambda: chat.box.press("Escape")), start=1):
        hold("Once upon a time", " there was more")
        chat.ask(f"Story {stopped}")
        expect(chat.text).to_have_text("Once upon a time")
        stop()
        expect(chat.answer).to_contain_text("Stopped")
        expect(chat.text).to_have_text("Once upon a time")
        expect(chat.stop).to_be_hidden()
        until(lambda wanted=stopped: closed() == wanted)
    assert chat.box.input_value() == ""


def test_a_reload_and_a_second_window_show_all_of_an_answer_and_go_on(
    chat: ChatPage, sandbox: Sandbox, hold: Hold
) -> None:
    middle = hold("One **two** ", "three", {"reasoning": "Counting."})
    chat.ask("Count")
    expect(chat.text).to_have_text("One two")
    chat.page.reload()
    expect(chat.text).to_have_text("One two")
    second = ChatPage(chat.page.context.new_page())
    second.page.goto(chat.page.url)
    expect(second.text).to_have_text("One two")
    expect(second.stop).to_be_visible()
    sandbox.release(middle)
    for window in (chat, second):
        window.ended()
        expect(window.text).to_have_text("One two three")
        expect(window.questions).to_have_text(["Count"])
        expect(window.answers).to_have_count(1)
        expect(window.answer.locator(".thought")).to_have_text("Counting.")
    sandbox.script({"content": "Again"})
    second.ask("And again")
    expect(chat.text).to_have_text("Again")  # what is asked in one window is shown in the other


def test_after_an_error_one_tries_again(chat: ChatPage, sandbox: Sandbox) -> None:
    sandbox.script({"error": {"message": "boom"}})
    chat.ask("Will it work?")
    expect(chat.answer.get_by_role("alert")).to_have_text(
        "The assistant cannot answer at the moment. Please try again later."
    )
    chat.ended()
    sandbox.script({"content": "It does"})
    chat.retry.click()
    for _ in ("as it comes", "as it is saved"):
        expect(chat.text).to_have_text("It does")
        expect(chat.questions.and_(chat.page.locator(":visible"))).to_have_count(1)
        expect(chat.retry.and_(chat.page.locator(":visible"))).to_have_count(0)
        chat.page.reload()


def test_a_question_stays_in_the_box_when_it_could_not_be_sent(
    chat: ChatPage, sandbox: Sandbox, faults: Faults
) -> None:
    faults.allow("ERR_INTERNET_DISCONNECTED")
    chat.page.context.set_offline(True)
    chat.box.fill("Are you there?")
    chat.box.press("Enter")
    expect(chat.page.get_by_role("alert").filter(has_text="The server cannot be reached.")).to_be_visible()
    expect(chat.box).to_have_value("Are you there?")
    expect(chat.questions).to_have_count(0)
    chat.page.context.set_offline(False)
    sandbox.script({"content": "Yes"})
    chat.box.press("Enter")
    expect(chat.text).to_have_text("Yes")
    expect(chat.box).to_have_value("")
    expect(chat.page.get_by_text("The server cannot be reached.")).to_be_hidden()


def test_a_lost_connection_is_said_and_mended(
    chat: ChatPage, stack: Stack, sandbox: Sandbox, hold: Hold, faults: Faults, until: Until
) -> None:
    faults.allow("ERR_CONNECTION|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE|WebSocket connection")
    middle = hold("Before ", "after")
    chat.ask("What then?")
    expect(chat.text).to_have_text("Before")
    lost = chat.page.get_by_text("The connection is lost. Trying again…")
    expect(lost).to_be_hidden()
    workers = psutil.Process(stack.processes["api"].pid).children()
    for worker in workers:
        worker.suspend()  # nobody takes up the connection before it was missed
    for worker in workers:
        worker.kill()
    expect(lost).to_be_visible()
    sandbox.release(middle)
    chat.ended()
    expect(chat.text).to_have_text("Before after")
    expect(lost).to_be_hidden()
    expect(chat.answers).to_have_count(1)


def test_conversations_are_listed_renamed_and_deleted(chat: ChatPage, sandbox: Sandbox) -> None:
    sandbox.script({"content": "Hm"}, times=3)
    for question in ("First?", "Second?"):
        chat.page.get_by_role("link", name="New conversation").click()
        chat.ask(question)
        chat.ended()
    expect(chat.conversations).to_have_text(["Second?", "First?"])
    expect(chat.conversations.first).to_have_attribute("aria-current", "page")

    chat.conversations.last.click()
    expect(chat.questions).to_have_text(["First?"])
    chat.ask("More?")
    expect(chat.conversations).to_have_text(["First?", "Second?"])
    chat.conversations.first.press("Tab")
    chat.ended()
    expect(chat.sidebar.get_by_role("button", name="Rename “First?”")).to_be_focused()  # the list was written anew
    chat.page.keyboard.press("Enter")
    chat.page.keyboard.type("Older")
    chat.page.keyboard.press("Enter")
    expect(chat.conversations).to_have_text(["Older", "Second?"])
    chat.page.reload()
    expect(chat.conversations).to_have_text(["Older", "Second?"])
    expect(chat.questions).to_have_text(["First?", "More?"])

    chat.conversations.first.hover()
    remove = chat.sidebar.get_by_role("button", name="Delete “Older”")
    remove.click()
    chat.page.get_by_role("button", name="Cancel").click()
    expect(chat.conversations).to_have_count(2)
    remove.click()
    chat.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(chat.conversations).to_have_text(["Second?"])
    expect(chat.questions).to_have_count(0)
    chat.page.reload()
    expect(chat.conversations).to_have_text(["Second?"])


def test_all_can_be_done_by_the_keyboard(chat: ChatPage, sandbox: Sandbox) -> None:
    sandbox.script({"reasoning": "Hm"}, {"content": MARKDOWN}, sources=[WEB])
    expect(chat.box).to_be_focused()
    chat.page.keyboard.type("One line")
    chat.page.keyboard.press("Shift+Enter")
    chat.page.keyboard.type("and another")
    chat.page.keyboard.press("Enter")
    chat.ended()
    expect(chat.questions).to_have_text(["One line\nand another"], use_inner_text=True)
    expect(chat.box).to_be_focused()
    wanted = chat.page.evaluate(FOCUSABLE)
    assert len(wanted) > 12
    chat.page.evaluate("document.activeElement.blur()")
    reached = {}
    for _ in range(len(wanted) + 5):
        chat.page.keyboard.press("Tab")
        name, is_seen = chat.page.evaluate(FOCUSED)
        reached[name] = is_seen
    assert set(wanted) <= set(reached)
    assert [name for name in wanted if not reached[name]] == []


def test_nothing_jumps_while_one_reads(chat: ChatPage, sandbox: Sandbox, until: Until) -> None:
    page, lines = chat.page, [f"Line {number}\n\n" for number in range(40)]
    first, second = uuid.uuid4().hex, uuid.uuid4().hex
    more = [{"content": line} for line in lines]
    sandbox.script(*more, {"hold": first}, *more, {"hold": second}, *more, {"content": "The end"})
    chat.ask("Go on")
    expect(chat.text.locator("p")).to_have_count(40)
    expect(chat.text.locator("p").last).to_be_in_viewport()
    chat.log.hover()
    page.mouse.wheel(0, -400)
    until(lambda: chat.from_end() > 300)
    before = until(chat.rest)
    sandbox.release(first)
    expect(chat.text.locator("p")).to_have_count(80)
    assert chat.top() == before
    chat.log.press("End")
    until(lambda: chat.from_end() < 2)
    sandbox.release(second)
    chat.ended()
    expect(chat.text.get_by_text("The end")).to_be_in_viewport()
    assert chat.from_end() < 2


def test_signing_in_and_out(chat: ChatPage, home: str, faults: Faults) -> None:
    page = chat.page
    faults.allow("401")
    expect(chat.box).to_be_visible()
    assert "token" not in page.url
    token = page.evaluate("localStorage.getItem('ragcore.token')")
    assert page.evaluate("history.length") == 2  # with the blank one
    page.reload()
    expect(chat.box).to_be_visible()

    page.goto(f"{home}/#token=bad")
    form = page.get_by_label("Link or token")
    expect(page.get_by_role("alert")).to_have_text("Your sign-in is not valid any more.")
    assert "bad" not in page.url
    form.fill(f"{home}/#token={token}")
    form.press("Enter")
    expect(chat.box).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(form).to_be_visible()
    assert page.evaluate("Object.values(localStorage)") == []
    page.reload()
    expect(form).to_be_visible()
    assert serious_faults(page) == []
    page.emulate_media(color_scheme="dark")
    assert serious_faults(page) == []


def test_the_page_speaks_the_language_of_its_reader(
    visit: Visit, sandbox: Sandbox, runtime: Runtime, instance: Instance
) -> None:
    page = visit(locale="fr-CA")
    box = page.get_by_label("Posez une question")
    sandbox.script({"content": "مرحبا بالعالم"})
    box.fill("שלום עולם")
    box.press("Enter")
    answer = page.get_by_role("article", name="Réponse")
    expect(answer).to_have_attribute("aria-busy", "false")
    for text in (page.get_by_text("שלום עולם").last, answer.get_by_text("مرحبا بالعالم")):
        assert text.evaluate("element => getComputedStyle(element).direction") == "rtl"
    assert page.evaluate("document.documentElement.lang") == "fr"
    shown = page.locator("body").inner_text() + " ".join(page.evaluate(NAMES))
    english = ["New", "None", "Sign", "Send", "Stop", "Ask", "Rename", "Delete", "Copy", "Answer", "Language"]
    assert [word for word in english if word in shown] == []

    (doc,) = runtime.store.all(instance, CONVERSATIONS)
    created = doc["messages"][1]["createdAt"]
    expect(answer.locator("time")).to_have_text(page.evaluate(DATE, created))
    page.get_by_label("Langue").select_option("English")
    expect(page.get_by_label("Ask something")).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == "en"
    page.reload()
    expect(page.get_by_role("link", name="New conversation")).to_be_visible()


def test_on_a_phone_the_list_is_a_menu(visit: Visit, sandbox: Sandbox) -> None:
    chat = ChatPage(visit(viewport=PHONE, has_touch=True, is_mobile=True))
    sandbox.script({"content": "Fine"})
    chat.ask("How are you?")
    chat.ended()
    menu = chat.page.get_by_role("button", name="Menu")
    expect(chat.sidebar).to_be_hidden()
    menu.press("Enter")
    expect(chat.sidebar).to_be_visible()
    expect(menu).to_have_attribute("aria-expanded", "true")
    expect(chat.sidebar.locator(":focus")).to_have_count(1)
    expect(chat.sidebar.get_by_role("button", name="Sign out")).to_be_in_viewport(ratio=1)
    assert chat.page.evaluate("innerWidth") == PHONE["width"]
    chat.page.keyboard.press("Escape")
    expect(chat.sidebar).to_be_hidden()
    expect(menu).to_be_focused()
    menu.tap()
    chat.sidebar.get_by_role("link", name="New conversation").tap()
    expect(chat.sidebar).to_be_hidden()
    expect(chat.questions).to_have_count(0)
    assert chat.page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_screen_readers_find_no_serious_fault(chat: ChatPage, sandbox: Sandbox, hold: Hold) -> None:
    page = chat.page
    check = [(PHONE, "light"), (PHONE, "dark"), (DESKTOP, "dark"), (DESKTOP, "light")]

    def look() -> None:
        for viewport, scheme in check:
            page.set_viewport_size(viewport)
            page.emulate_media(color_scheme=scheme)
            assert serious_faults(page) == [], f"{viewport}, {scheme}"

    expect(chat.box).to_be_visible()
    look()
    sandbox.script({"reasoning": "Hm"}, {"content": MARKDOWN}, sources=[WEB])
    chat.ask("What shall I eat?")
    chat.ended()
    sandbox.script({"error": {"message": "boom"}})
    chat.ask("And then?")
    chat.ended()
    hold("Half", "whole")
    chat.ask("And at last?")
    expect(chat.text).to_have_text("Half")
    look()
    chat.conversations.first.hover()
    chat.sidebar.get_by_role("button", name="Rename").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    look()
