"""Assistants are made and edited in the page, which shows what becomes of their files."""

import io
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from ragcore.documents import ASSISTANTS, FILES, STATUSES
from ragcore.errors import NotFound
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from ragcore.store import Document
from tests.integration.page.conftest import Visit
from tests.support.files import Drive
from tests.support.page import PHONE, serious_faults
from tests.support.sandbox import Sandbox

INDEXED = re.compile(r"Indexed \d")
PICTURE = b'<svg xmlns="http://www.w3.org/2000/svg" width="512" height="256"><rect width="512" height="256"/></svg>'
FILES_DROPPED = """names => {
  const data = new DataTransfer()
  for (const name of names) data.items.add(new File([`The content of ${name}`], name, {type: 'text/plain'}))
  return data
}"""


@pytest.fixture
def drive(runtime: Runtime, instance: Instance) -> Drive:
    return Drive(runtime, instance)


def open_assistant(page: Page, assistant_id: str) -> None:
    page.goto(f"{page.url.partition('#')[0]}#/a/{assistant_id}")
    expect(page.get_by_role("button", name="Chat with it")).to_be_visible()


def assistant_of(page: Page, drive: Drive) -> Document:
    return drive.runtime.store.get(drive.instance, ASSISTANTS, page.url.rpartition("/")[2])


def listed(page: Page, name: str) -> Locator:
    """The line of a file in the list of its folder."""
    lines = page.get_by_role("list", name="What is in the folder").get_by_role("listitem")
    return lines.filter(has=page.get_by_role("link", name=name, exact=True))


def refused(page: Page, name: str) -> Locator:
    lines = page.get_by_role("list", name="Not indexed").get_by_role("listitem")
    return lines.filter(has=page.get_by_role("link", name=name, exact=True))


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_an_assistant_is_made_by_keyboard_and_its_folder_indexed_in_sight(
    page: Page, drive: Drive, sandbox: Sandbox
) -> None:
    for number in range(40):
        drive.file(f"/Papers/Old/note {number}.txt", f"What stands in note {number}.")
    drive.folder("/Letters")
    sandbox.set(call_delay=0.5)  # the walk takes seconds, however fast the machine
    page.get_by_role("link", name="New assistant").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Name")).to_be_focused()
    page.keyboard.type("Archivist")
    press(page, "Tab")
    page.keyboard.type("Answer as an archivist.")
    press(page, "Tab", "Tab", "Tab")
    expect(page.get_by_role("treeitem", name="All my indexed files")).to_be_focused()
    expect(page.get_by_role("treeitem", name="Papers")).to_be_visible()
    press(page, "End")
    expect(page.get_by_role("treeitem", name="Papers")).to_be_focused()
    press(page, "ArrowLeft", "ArrowLeft", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowRight")
    expect(page.get_by_role("treeitem", name="Old")).to_be_visible()
    press(page, "ArrowRight", "Enter")
    expect(page.get_by_role("treeitem", name="Old")).to_have_attribute("aria-selected", "true")
    press(page, "Home", "ArrowDown", "End", "ArrowUp", "Space")
    expect(page.get_by_role("treeitem", name="Papers")).to_have_attribute("aria-selected", "true")
    assert serious_faults(page) == []
    page.get_by_role("button", name="Save").press("Enter")

    bar = page.get_by_role("progressbar")
    expect(bar).to_be_visible()
    expect(page.get_by_text(re.compile(r"Indexing: \d+ of 40 files"))).to_be_visible()
    assert bar.get_attribute("max") == "40"
    assert serious_faults(page) == []
    sandbox.set(call_delay=0)
    expect(page.get_by_text("The folder has been gone through").first).to_be_visible()
    expect(page.locator("#announcer")).to_contain_text("The folder has been gone through")
    expect(bar).to_be_hidden()

    page.get_by_role("button", name="Old", exact=True).press("Enter")
    expect(listed(page, "note 39.txt")).to_contain_text(INDEXED)
    expect(page.get_by_text("/Papers/Old", exact=True)).to_be_visible()
    page.get_by_role("button", name="One folder up").press("Enter")
    expect(page.get_by_role("button", name="Old", exact=True)).to_be_visible()
    doc = assistant_of(page, drive)
    folder = drive.editor.tree.at("/Papers")
    assert doc["relationships"] == {"knowledgeBase": {"data": [{"_id": folder.id, "_type": FILES}]}}
    assert (doc["name"], doc["prompt"], doc["icon"]) == ("Archivist", "Answer as an archivist.", None)
    assert doc["cozyMetadata"].keys() == {"doctypeVersion", "metadataVersion", "createdAt", "updatedAt", "createdOn"}
    page.get_by_role("button", name="Chat with it").click()
    expect(page.get_by_role("combobox", name="Assistant")).to_have_value(doc["_id"])


def test_what_is_not_indexed_is_listed_with_the_reason(visit: Visit, drive: Drive, until: Callable[..., Any]) -> None:
    original = drive.file("/Papers/Deep/original.txt", "Twice the same.")
    drive.file("/Papers/picture.png", "not much")
    drive.file("/Papers/data.xyz", "what nobody reads")
    drive.editor.add_file(drive.folder("/Papers/Deep"), "secret.txt", io.BytesIO(b"sealed"), encrypted=True)
    elsewhere = drive.file("/Papers of others/picture.png", "not theirs")
    assistant_id = drive.assistant(drive.folder("/Papers"), name="Archivist")
    drive.assistant(drive.folder("/Papers of others"))
    until(lambda: drive.runtime.store.get_or_new(drive.instance, STATUSES, elsewhere["_id"]).get("status"))
    page = visit()
    open_assistant(page, assistant_id)
    expect(refused(page, "secret.txt")).to_contain_text("/Papers/DeepRefused. It is encrypted.")
    expect(refused(page, "picture.png")).to_contain_text("Images, sound and videos are not indexed here.")
    expect(refused(page, "data.xyz")).to_contain_text("in a format that cannot be read")
    expect(refused(page, "picture.png")).to_have_count(1)  # not that of another folder whose name begins alike
    expect(listed(page, "data.xyz")).to_contain_text("Refused.")

    until(lambda: drive.runtime.store.get_or_new(drive.instance, STATUSES, original["_id"]).get("status"))
    copy = drive.file("/Papers/copy.txt", "Twice the same.")
    expect(listed(page, "copy.txt")).to_contain_text("Waiting")  # it came while the list was shown
    page.evaluate("import('/static/data/folders.js').then(folders => folders.indexNow())")
    expect(refused(page, "copy.txt")).to_contain_text("Same content as /Papers/Deep/original.txt")
    href = refused(page, "copy.txt").get_by_role("link", name="/Papers/Deep/original.txt").get_attribute("href")
    assert href == f"#/file/{original['_id']}"
    drive.editor.trash(drive.editor.store.get(drive.instance, FILES, copy["_id"]))
    expect(refused(page, "copy.txt")).to_have_count(0)
    expect(listed(page, "copy.txt")).to_have_count(0)
    assert serious_faults(page) == []

    phone = visit(viewport=PHONE, color_scheme="dark", locale="fr-FR")
    phone.goto(f"{phone.url.partition('#')[0]}#/a/{assistant_id}")
    expect(phone.get_by_role("list", name="Non indexés")).to_contain_text("Il est chiffré.")
    assert serious_faults(phone) == []


def test_files_are_dropped_and_chosen_and_indexed_at_once(page: Page, drive: Drive) -> None:
    drive.file("/Papers/a.txt", "There before.")
    open_assistant(page, drive.assistant(drive.folder("/Papers")))
    expect(listed(page, "a.txt")).to_contain_text(INDEXED)
    dropped = page.evaluate_handle(FILES_DROPPED, ["a.txt", "b.txt"])
    zone = page.get_by_role("list", name="What is in the folder")
    zone.dispatch_event("dragover", {"dataTransfer": dropped})
    expect(page.get_by_text("Drop the files here")).to_be_visible()
    zone.dispatch_event("drop", {"dataTransfer": dropped})
    expect(page.get_by_text("Drop the files here")).to_be_hidden()
    expect(listed(page, "b.txt")).to_contain_text(INDEXED)
    expect(page.get_by_text("There is a file of this name already.")).to_be_visible()
    assert serious_faults(page) == []
    page.get_by_role("button", name="Keep both, as “a (2).txt”").click()
    expect(listed(page, "a (2).txt")).to_contain_text(INDEXED)

    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Add files").press("Enter")
    chooser.value.set_files([{"name": "c.md", "mimeType": "text/markdown", "buffer": b"# Chosen"}])
    expect(listed(page, "c.md")).to_contain_text(INDEXED)
    expect(page.get_by_role("list", name="Files being added").get_by_role("listitem")).to_have_count(0)


def test_an_edited_assistant_keeps_what_the_page_does_not_know(page: Page, drive: Drive) -> None:
    provider = {"data": {"_id": "account", "_type": "io.cozy.accounts", "metadata": {"providerId": "openrag"}}}
    folder, other = drive.folder("/Papers"), drive.folder("/Letters/Old")
    open_assistant(
        page, drive.assistant(folder, former=True, relationships={"provider": provider}, more={"of": "mine"})
    )
    page.get_by_role("textbox", name="Name").fill("Editor")
    page.locator("input[accept]").set_input_files(
        {"name": "me.svg", "mimeType": "image/svg+xml", "buffer": PICTURE},
    )
    expect(page.locator("form img.avatar")).to_be_visible()
    assert page.locator("form img.avatar").evaluate("image => [image.naturalWidth, image.naturalHeight]") == [128, 64]
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    expect(page.get_by_role("heading", name="Editor")).to_be_visible()
    expect(page.get_by_role("link", name="Editor").locator("img.avatar")).to_be_visible()
    doc = assistant_of(page, drive)
    assert (doc["name"], doc["more"], doc["relationships"]) == ("Editor", {"of": "mine"}, {"provider": provider})
    assert doc["knowledgeBase"] == [{"doctype": FILES, "dirId": folder.id}]
    assert not doc["icon"].startswith("data:")

    page.locator("summary").click()
    page.get_by_role("treeitem", name="Letters").click()
    page.get_by_role("treeitem", name="Letters").press("ArrowRight")
    page.get_by_role("treeitem", name="Old").click()
    page.get_by_role("button", name="Remove the image").click()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("region", name="What it knows").get_by_text("/Letters/Old", exact=True)).to_be_visible()
    expect(page.get_by_text("This folder is empty.")).to_be_visible()
    doc = assistant_of(page, drive)
    assert "knowledgeBase" not in doc
    assert doc["relationships"] == {
        "provider": provider,
        "knowledgeBase": {"data": [{"_id": other.id, "_type": FILES}]},
    }
    assert (doc["icon"], doc["more"]) == (None, {"of": "mine"})

    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(page).to_have_url(re.compile("#/$"))
    expect(page.get_by_role("link", name="Editor")).to_have_count(0)
    with pytest.raises(NotFound):
        drive.runtime.store.get(drive.instance, ASSISTANTS, doc["_id"])
