"""The pictures of the README, in `docs/images`: the main views, wide and narrow, light and dark.

What they show is fixed, dates too. A picture is written again only when it looks different.
"""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from deploy.local.layout import CHECKOUT
from ragcore.documents import CONVERSATIONS, FILES, STATUSES
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.integration.page.conftest import Visit
from tests.support.files import Drive
from tests.support.images import keep, taken
from tests.support.page import DESKTOP, PHONE

Json = dict[str, Any]

IMAGES = CHECKOUT / "docs/images"
SAMPLE = CHECKOUT / "deploy/local/sample/Travel"
SIZES = {"desktop": DESKTOP, "phone": PHONE}
LIMIT = 80_000  # bytes of a picture
EARLIER, DATE = "2026-03-01T09:30:00Z", "2026-03-02T09:30:00Z"
ANSWER = """For **three nights**, hut to hut, each rucksack weighs at most a fifth of the person:

| Who | With water |
|---|---|
| Alice | 12 kg |
| Tom | 15 kg |
| Nils | 7 kg |

Do not forget:

- a *silk liner*: the huts refuse people without one
- **cash**, because only one hut in three takes cards
- two litres of water each, and 200 g of nuts a day
"""
NOTE = {"title": "Before the hut", "content": "- wax the boots\n- new batteries for the head torch\n- 24 euros a bed"}


@pytest.fixture
def drive(runtime: Runtime, instance: Instance) -> Drive:
    """The folder of the sample about travels, as the index left it."""
    drive = Drive(runtime, instance)
    for file in sorted(SAMPLE.rglob("*.txt")) + sorted(SAMPLE.rglob("*.md")):
        drive.file(f"/Travel/{file.relative_to(SAMPLE).as_posix()}", file.read_text())
    drive.file("/Travel/Slides of Norway.mp4", "")
    return drive


def conversation(drive: Drive, assistant: str, name: str, question: str, updated: str, **answer: Any) -> str:
    """The id of one that is saved already."""
    messages = [
        {"id": f"{name}-1", "role": "user", "content": question, "createdAt": DATE},
        {"id": f"{name}-2", "role": "assistant", "createdAt": DATE, **answer},
    ]
    related = {"assistant": {"data": {"_id": assistant, "_type": "io.cozy.ai.chat.assistants"}}}
    doc = {"name": name, "messages": messages, "relationships": related, "cozyMetadata": {"updatedAt": updated}}
    saved: str = drive.runtime.store.save(drive.instance, CONVERSATIONS, doc)["_id"]
    return saved


def sources(drive: Drive) -> list[Json]:
    found = drive.runtime.store.find(drive.instance, FILES, {"type": "file"})
    files = sorted((doc for doc in found if doc["name"].endswith((".txt", ".md"))), key=lambda doc: doc["name"])
    return [
        {"sourceType": "document", "doctype": FILES, "id": doc["_id"], "filename": doc["name"], "page": 1}
        for doc in files
    ]


def index_at_a_fixed_date(drive: Drive, until: Any) -> None:
    store, instance = drive.runtime.store, drive.instance

    def settled() -> list[Json]:
        docs = list(store.all(instance, STATUSES))
        return docs if [doc.get("status") for doc in docs].count("success") == 3 else []

    for doc in until(settled):
        store.save(instance, STATUSES, {**doc, **{key: DATE for key in doc if key.endswith("Date")}})


def test_the_pictures_of_the_main_views(visit: Visit, browser: Browser, drive: Drive, until: Any) -> None:
    assistant = drive.assistant(drive.folder("/Travel"), name="Travels", prompt="Answer in a few words.")
    index_at_a_fixed_date(drive, until)
    chat = conversation(
        drive, assistant, "Three nights in the huts", "What do we take to the huts, and how heavy may it be?", DATE,
        content=ANSWER, sources=sources(drive),
    )  # fmt: skip
    action = conversation(
        drive, assistant, "A note before we leave", "Make a note of what is left to do before we leave.", EARLIER,
        content="Here is a note of it.", action={"name": "create_note", "params": NOTE},
    )  # fmt: skip
    page, pictures = visit(), {}
    views = {
        "chat": (f"#/c/{chat}", page.locator(".chip").last),
        "action": (f"#/c/{action}", page.get_by_role("button", name="Write the note")),
        "assistant": (f"#/a/{assistant}", page.get_by_text("Mountain packing list.txt")),
    }
    for view, (route, ready) in views.items():
        page.goto(f"{page.url.partition('#')[0]}{route}")
        expect(ready).to_be_visible()
        for size, viewport in SIZES.items():
            for scheme in ("light", "dark"):
                page.set_viewport_size(viewport)
                page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
                rest(page)
                pictures[IMAGES / f"{view}-{size}-{scheme}.webp"] = taken(page)
    keep(browser, pictures)
    assert set(IMAGES.glob("*.webp")) == set(pictures)
    assert all(picture.stat().st_size < LIMIT for picture in pictures)


def rest(page: Page) -> None:
    """Nothing is pointed at, and what was asked for is painted."""
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    width = page.viewport_size["width"] if page.viewport_size else 0
    page.wait_for_function("width => innerWidth === width", arg=width)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
