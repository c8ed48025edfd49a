"""The pictures of the README, in `docs/images`: the main views, wide and narrow, light and dark.

What they show is fixed, dates too. A picture is written again only when it looks different.
"""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from deploy.local.layout import CHECKOUT
from ragcore.documents import CONVERSATIONS, FILES, MEMORIES, STATUSES
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.integration.page.conftest import Visit
from tests.support.chat_page import ChatPage
from tests.support.files import Drive
from tests.support.grounded import calls, used
from tests.support.images import keep, taken
from tests.support.page import DESKTOP, PHONE
from tests.support.sandbox import Sandbox

Json = dict[str, Any]

IMAGES = CHECKOUT / "docs/images"
SAMPLE = CHECKOUT / "deploy/local/sample/Travel"
SIZES = {"desktop": DESKTOP, "phone": PHONE}
LIMIT = 80_000  # bytes of a picture
EARLIEST, EARLIER, DATE = "2026-02-28T09:30:00Z", "2026-03-01T09:30:00Z", "2026-03-02T09:30:00Z"
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
QUESTION = "How heavy may a rucksack be, and what do the huts ask for?"
STEPS = [
    ("get_workspace_stats", {}),
    ("search_knowledge_base", {"query": "weight of rucksacks, nuts, liners in huts"}),
    ("list_recent_documents", {"limit": 3}),
]
GROUNDED = (
    "A rucksack weighs **at most a fifth of the person** [1]: 12 kg for Alice, 15 kg for Tom, 7 kg for Nils. "
    "Each of you needs a silk liner, because the huts refuse people without one [1], and cash. "
    "Nils must not have any of the nuts [2]."
)
REMEMBERED = [
    ("active", "Nils is allergic to nuts.", 0.95),
    ("active", "The family travels by train wherever it can.", 0.9),
    ("pending", "Alice would like to be in Lisbon again in May.", 0.6),
    ("pending", "Aunt Odile is called when nobody has been heard of by 22:00.", 0.75),
]
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


def remember(drive: Drive) -> None:
    for hour, (status, text, confidence) in enumerate(REMEMBERED):
        source = {"surface": "agent", "conversation": "c"}
        doc = {"text": text, "confidence": confidence, "status": status, "source": source}
        doc["cozyMetadata"] = {"createdAt": DATE, "updatedAt": DATE.replace("T09", f"T1{hour}")}
        drive.runtime.store.save(drive.instance, MEMORIES, doc)


def ask_the_agent(page: Page, drive: Drive, sandbox: Sandbox) -> None:
    """Its steps are shown as they are done, and not saved: what is on the page stays there when the dates are set."""
    chat = ChatPage(page)
    page.get_by_label("Assistant", exact=True).select_option("Travels")
    page.get_by_label("Agent", exact=True).check()
    sandbox.script(calls(*STEPS), used(1200, 90))
    sandbox.script({"content": GROUNDED}, used(1100, 60))
    chat.ask(QUESTION)
    chat.ended()
    store, conversation_id = drive.runtime.store, page.url.rpartition("/")[2]
    doc = store.get(drive.instance, CONVERSATIONS, conversation_id)
    messages = [message | {"createdAt": DATE} for message in doc["messages"]]
    metadata = doc["cozyMetadata"] | {"updatedAt": EARLIEST}
    store.save(drive.instance, CONVERSATIONS, doc | {"messages": messages, "cozyMetadata": metadata})
    expect(chat.answer.locator(".chip .number ~ span").get_by_text("Memory")).to_be_visible()
    expect(chat.answer.locator("time")).to_have_attribute("datetime", DATE)
    expect(chat.conversations.last).to_have_text(QUESTION)


def index_at_a_fixed_date(drive: Drive, until: Any) -> None:
    store, instance = drive.runtime.store, drive.instance

    def settled() -> list[Json]:
        docs = list(store.all(instance, STATUSES))
        return docs if [doc.get("status") for doc in docs].count("success") == 3 else []

    for doc in until(settled):
        store.save(instance, STATUSES, {**doc, **{key: DATE for key in doc if key.endswith("Date")}})


def test_the_pictures_of_the_main_views(
    visit: Visit, browser: Browser, drive: Drive, until: Any, sandbox: Sandbox
) -> None:
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
    remember(drive)
    page, pictures = visit(), {}
    ask_the_agent(page, drive, sandbox)
    agent = page.url.partition("#")[2]
    views = {
        "agent": (f"#{agent}", page.locator(".step").last),
        "chat": (f"#/c/{chat}", page.locator(".chip").last),
        "action": (f"#/c/{action}", page.get_by_role("button", name="Write the note")),
        "assistant": (f"#/a/{assistant}", page.get_by_text("Mountain packing list.txt")),
        "memories": ("#/memories", page.get_by_text("Nils is allergic to nuts.")),
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
