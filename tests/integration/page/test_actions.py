"""Actions on the page: proposed, edited, confirmed or dismissed, and what becomes of them."""

import io
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from ragcore.documents import CONVERSATIONS
from ragcore.files.edit import Editor
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.integration.page.conftest import Visit
from tests.support.chat import call
from tests.support.page import PHONE, Faults, serious_faults
from tests.support.sandbox import Sandbox

Json = dict[str, Any]
Propose = Callable[..., Locator]
Saved = Callable[[], list[Json]]

MAILS = """() => {
  window.mails = []
  document.addEventListener('click', (event) => {
    if (!event.target.href?.startsWith('mailto:')) return
    event.preventDefault()
    window.mails.push(event.target.href)
  }, true)
}"""


@pytest.fixture
def propose(sandbox: Sandbox) -> Propose:
    """Asks something that is answered with an action: its card."""

    def ask(page: Page, name: str, q: str = "Please do it", **params: Any) -> Locator:
        sandbox.script(call(name, json.dumps(params)))
        page.get_by_role("button", name="My files").click()  # without them
        page.get_by_role("textbox", name="Ask something").fill(q)
        page.keyboard.press("Enter")
        expect(page.get_by_role("article", name="Answer")).to_have_attribute("aria-busy", "false")
        sandbox.clear_calls()
        return page.locator(".action")

    return ask


@pytest.fixture
def saved(runtime: Runtime, instance: Instance) -> Saved:
    """The messages of the only conversation."""

    def read() -> list[Json]:
        docs = runtime.store.find(instance, CONVERSATIONS, {"messages": {"$exists": True}})
        return [message for doc in docs for message in doc["messages"]]

    return read


@pytest.fixture
def editor(runtime: Runtime, instance: Instance) -> Editor:
    return Editor(runtime.store, runtime.storage, instance)


def files_of(editor: Editor, path: str) -> dict[str, str]:
    """The texts of the files of a folder, by their names."""
    tree, domain = editor.tree, editor.instance.domain
    names = [doc["name"] for page in tree.children(tree.at(path).id) for doc in page]
    return {name: editor.storage.open(domain, f"{path}/{name}").read().decode() for name in names}


def test_a_note_is_written_as_it_was_edited_and_shown(
    page: Page, propose: Propose, saved: Saved, editor: Editor
) -> None:
    card = propose(page, "create_note", title="Milk", content="- milk")
    assert serious_faults(page) == []
    card.get_by_label("Title").fill("Milk / bread")
    card.get_by_label("Text").fill("# Shop\n\n- milk\n- bread")
    card.get_by_role("button", name="Write the note").dblclick()
    expect(card).to_contain_text("The note is written.")
    assert files_of(editor, "/Notes") == {"Milk - bread.md": "# Shop\n\n- milk\n- bread"}
    action = saved()[-1]["action"]
    assert (action["status"], action["params"]["title"]) == ("done", "Milk / bread")
    page.reload()
    expect(card).to_contain_text("The note is written.")
    expect(card.get_by_role("button")).to_have_count(0)
    card.get_by_role("link", name="Open").click()
    assert page.url == action["url"]
    dialog = page.get_by_role("dialog", name="Milk - bread.md")
    expect(dialog.get_by_role("heading", name="Shop")).to_be_visible()
    expect(dialog).to_contain_text("/Notes")
    assert serious_faults(page) == []
    with page.expect_download() as download:
        dialog.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "Milk - bread.md"
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page).to_have_url(re.compile("#/c/"))
    expect(card).to_contain_text("The note is written.")


def test_a_note_that_failed_is_tried_again_under_a_free_name(
    page: Page, propose: Propose, editor: Editor, faults: Faults
) -> None:
    editor.add_file(editor.mkdir("/Notes"), "milk.md", io.BytesIO(b"old"))
    card = propose(page, "create_note", title="Milk", content="new")
    faults.allow("ERR_FAILED")
    page.route("**/files/*", lambda route: route.abort())
    card.get_by_label("Title").focus()
    page.keyboard.press("Enter")
    expect(card.get_by_role("alert")).to_have_text("The server cannot be reached.")
    expect(card.get_by_label("Text")).to_have_value("new")
    page.unroute("**/files/*")
    card.get_by_role("button", name="Write the note").click()
    expect(card).to_contain_text("The note is written.")
    assert files_of(editor, "/Notes") == {"milk.md": "old", "Milk (2).md": "new"}


def test_an_email_opens_in_the_mail_program(visit: Visit, propose: Propose, saved: Saved) -> None:
    page = visit(viewport=PHONE, color_scheme="dark")
    page.evaluate(MAILS)
    card = propose(
        page, "draft_email", "Write to Claire", to=["claire@example.com"], subject="R&D?", body="Hé,\n50 % = ok"
    )
    expect(card.get_by_label("To")).to_have_value("")
    expect(card).to_contain_text("only what you typed yourself may stand here")
    assert serious_faults(page) == []
    card.get_by_label("To").fill("claire+x@example.com, Marie Curie")
    card.get_by_role("button", name="Open in my mail program").click()
    expect(card).to_contain_text("Opened in your mail program.")
    (link,) = page.evaluate("window.mails")
    assert (
        link == "mailto:claire%2Bx@example.com,Marie%20Curie?subject=R%26D%3F&body=H%C3%A9%2C%0D%0A50%20%25%20%3D%20ok"
    )
    expect(card.get_by_role("link", name="Open it again")).to_have_attribute("href", link)
    action = saved()[-1]["action"]
    assert (action["status"], action["params"]["to"]) == ("done", ["claire+x@example.com", "Marie Curie"])
    assert "url" not in action
    assert serious_faults(page) == []


def test_the_link_of_a_long_email_is_cut(page: Page) -> None:
    link = page.evaluate("""async () => {
      const { mailto } = await import('/static/chat/tools/email.js')
      return mailto({ to: ['a@b.c'], subject: 's', body: '😀é'.repeat(1000) })
    }""")
    assert link["isCut"]
    assert len(link["href"]) <= 2000
    assert unquote(urlsplit(link["href"]).query, errors="strict").endswith(("😀 […]", "é […]"))


def test_a_search_gives_its_result_and_the_assistant_goes_on(
    page: Page, propose: Propose, saved: Saved, editor: Editor, sandbox: Sandbox
) -> None:
    for name in ("Cafe\u0301 [a+b].txt", "Café ab.txt", "[A+B].txt", "Gone CAFÉ [a+b].txt"):
        added = editor.add_file(editor.mkdir("/Home"), name, io.BytesIO(name.encode()))
    editor.trash(added)
    card = propose(page, "search_files", query="coffee")
    card.get_by_label("Words in the name").fill("[A+b] CAFÉ")
    sandbox.script({"content": "It is the first one."})
    card.get_by_role("button", name="Search").dblclick()
    expect(page.get_by_text("It is the first one.", exact=True)).to_be_visible()
    expect(card).to_contain_text("Searched.")
    (body,) = sandbox.completions()
    result = body["messages"][-1]
    assert result["role"] == "tool"
    assert result["content"].startswith("1 file:")
    assert "in /Home" in result["content"]
    _, proposal, given, answer = saved()
    assert (proposal["action"]["status"], proposal["action"]["params"]) == ("done", {"query": "[A+b] CAFÉ"})
    assert given["result"] == {"messageID": proposal["id"], "ok": True}
    assert answer["content"] == "It is the first one."
    assert serious_faults(page) == []


def test_a_search_that_failed_is_told_to_the_assistant(
    page: Page, propose: Propose, sandbox: Sandbox, faults: Faults
) -> None:
    card = propose(page, "search_files", query="coffee")
    faults.allow("status of 403")
    page.route("**/data/io.cozy.files/_find", lambda route: route.fulfill(status=403, body="{}"))
    sandbox.script({"content": "I may not look there."})
    card.get_by_role("button", name="Search").click()
    expect(page.get_by_text("I may not look there.", exact=True)).to_be_visible()
    expect(card).to_contain_text("This did not work.")
    (body,) = sandbox.completions()
    assert body["messages"][-1]["content"] == "Error: You may not do this."


def test_a_dismissed_action_is_so_in_every_window(page: Page, propose: Propose, saved: Saved) -> None:
    card = propose(page, "search_files", query="coffee")
    other = page.context.new_page()
    other.goto(page.url)
    seen = other.locator(".action")
    seen.get_by_label("Words in the name").fill("tea")
    card.get_by_role("button", name="Dismiss").press("Enter")
    expect(card).to_contain_text("Dismissed.")
    expect(card).to_be_focused()
    expect(seen).to_contain_text("Dismissed.")
    expect(seen.get_by_role("button")).to_have_count(0)
    question, proposal = saved()
    assert proposal["action"]["status"] == "cancelled"


def test_an_action_of_another_client_can_only_be_dismissed(
    visit: Visit, runtime: Runtime, instance: Instance, home: str
) -> None:
    action = {"name": "book_room", "params": {"seats": 4, "quiet": True, "names": ["Ada", "Bo"], "why": None}}
    messages = [{"id": "q", "role": "user", "content": "Book"}, {"id": "a", "role": "assistant", "action": action}]
    runtime.store.save(instance, CONVERSATIONS, {"_id": "c", "messages": messages})
    page = visit()
    page.goto(f"{home}/#/c/c")
    card = page.get_by_role("region", name="Action: book_room")
    expect(card.get_by_label("names")).to_have_value("Ada\nBo")
    expect(card.get_by_label("seats")).not_to_be_editable()
    expect(card.get_by_label("quiet")).to_be_checked()
    expect(card.get_by_role("button")).to_have_text(["Dismiss"])
    assert serious_faults(page) == []


def test_a_file_that_is_gone_says_so(visit: Visit, home: str) -> None:
    page = visit()
    page.goto(f"{home}/#/file/gone")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("does not exist any more")
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("textbox", name="Ask something")).to_be_visible()


def test_an_office_document_is_not_shown_as_a_text(visit: Visit, home: str, editor: Editor) -> None:
    added = editor.add_file(editor.mkdir("/Club"), "Rules.docx", io.BytesIO(b"PK\x03\x04"))
    page = visit()
    page.goto(f"{home}/#/file/{added['_id']}")
    dialog = page.get_by_role("dialog", name="Rules.docx")
    expect(dialog).to_contain_text("/Club")
    expect(dialog.get_by_role("region")).to_have_count(0)
    expect(dialog.get_by_role("button", name="Download")).to_be_visible()
