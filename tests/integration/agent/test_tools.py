"""What the tools of the agent give, over real processes."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from ragcore.documents import FILES, MEMORIES
from ragcore.memories import Memories
from ragcore.runtime import Runtime
from tests.support.grounded import Library, calls, sources_of, text_of, tools_of
from tests.support.sandbox import Sandbox

STATS, RECENT, SEARCH, SAVE = (
    "get_workspace_stats", "list_recent_documents", "search_knowledge_base", "save_memory"
)  # fmt: skip

Json = dict[str, Any]
Use = Callable[..., tuple[Json, Json]]


@pytest.fixture
def use(library: Library, sandbox: Sandbox) -> Use:
    """What a tool gives: to the LLM, and to people."""

    def use(name: str, arguments: Json, message: str = "Please.", conversation: str = "", **body: Any) -> Any:
        sandbox.clear_calls()
        sandbox.script(calls((name, arguments)))
        sandbox.script({"content": "So it is [1]."})
        events = library.tell(message, conversation, **body)
        _, ended = tools_of(events)
        *_, last = sandbox.completions()
        (result,) = [json.loads(said["content"]) for said in last["messages"] if said["role"] == "tool"]
        return result, ended

    return use


@pytest.fixture
def dated(library: Library, runtime: Runtime) -> None:
    """The garden was last changed in 2020, the stove in 2021, the heating in 2022."""
    for name, year in (("garden.txt", 2020), ("stove.txt", 2021), ("heating.md", 2022)):
        file_id = library.id_of(f"/Home/{name}")
        changed = {"updated_at": f"{year}-06-01T10:00:00.000Z"}
        runtime.store.update(library.instance, FILES, file_id, lambda doc, changed=changed: {**doc, **changed})


def test_the_workspace_is_counted(use: Use, library: Library) -> None:
    result, ended = use(STATS, {})
    assert result["documents"] == 4
    assert result["by class"] == {"text": 4}
    assert result["by folder"] == {"/Home": 3, "/Private": 1}
    assert (result["indexed"], result["refused"]) == (4, 0)
    assert result["conversations"] >= 1
    assert result["today"] == {"conversations": result["conversations"]}  # without a plan nothing is counted
    assert ended["status"] == "done"
    assert ended["detail"]["documents"] == 4


def test_what_is_in_the_trash_or_refused(use: Use, library: Library, runtime: Runtime) -> None:
    gone, kept = library.drive.file("/Gone/old.txt", "Old."), library.drive.file("/Home/x.zip", "x")
    runtime.store.save(library.instance, "io.cozy.ai.chat.rag", {"_id": kept["_id"], "status": "notsupported"})
    folder = library.drive.folder("/Gone")
    runtime.store.update(library.instance, FILES, folder.id, lambda doc: {**doc, "path": "/.cozy_trash/Gone"})
    try:
        result, _ = use(STATS, {})
        assert (result["documents"], result["refused"], result["by class"]) == (5, 1, {"text": 4, "zip": 1})
        result, _ = use(RECENT, {})
        assert [doc["file"] for doc in result["documents"]][:1] == ["x.zip"]
        assert "old.txt" not in [doc["file"] for doc in result["documents"]]
    finally:
        for doc in (gone, kept):
            runtime.store.delete(library.instance, FILES, runtime.store.get(library.instance, FILES, doc["_id"]))


def test_an_assistant_counts_and_lists_its_folder_alone(use: Use, library: Library) -> None:
    result, _ = use(STATS, {}, assistantID=library.home)
    assert (result["documents"], result["by folder"]) == (3, {"/Home": 3})
    assert "indexed" not in result
    result, _ = use(RECENT, {}, assistantID=library.home)
    assert {doc["folder"] for doc in result["documents"]} == {"/Home"}


@pytest.mark.usefixtures("dated")
def test_recent_documents(use: Use) -> None:
    result, ended = use(RECENT, {"limit": 3})
    newest, *others = result["documents"]
    assert newest["file"] == "key.txt"
    assert (newest["folder"], newest["class"], newest["indexed"]) == ("/Private", "text", True)
    assert [doc["file"] for doc in others] == ["heating.md", "stove.txt"]
    assert ended["detail"] == {"limit": 3, "found": 3, "files": ["key.txt", "heating.md", "stove.txt"]}
    result, _ = use(RECENT, {"since": "2020-06-01", "until": "2021-06-01"})
    assert [doc["file"] for doc in result["documents"]] == ["stove.txt", "garden.txt"]
    result, _ = use(RECENT, {"since": "2021-06-01T10:30:00Z", "until": "2022-06-01T11:00:00+02:00"})
    assert result["documents"] == []


@pytest.mark.usefixtures("dated")
def test_a_search_of_dates(use: Use) -> None:
    result, ended = use(SEARCH, {"query": "boiler", "since": "2021-01-01", "until": "2021-12-31"})
    assert {passage["file"] for passage in result["passages"]} == {"stove.txt"}
    assert ended["detail"]["since"] == "2021-01-01"
    result, _ = use(SEARCH, {"query": "boiler", "since": "2030-01-01"})
    assert result == {"found": 0}


def test_a_search_looks_into_the_cited_files_first(library: Library, sandbox: Sandbox, use: Use) -> None:
    sandbox.script(calls((SEARCH, {"query": "reset boiler"})))
    sandbox.script({"content": "Hold it [1][2]."})
    cited = {source["id"] for source in sources_of(library.tell("How do I reset the boiler?", "staged"))}
    use(SEARCH, {"query": "button of the boiler"}, "And the button?", "staged")
    assert {call["path"].rpartition("/")[2] for call in sandbox.calls("^/search/")} == cited


def test_an_assistant_searches_its_folder_alone(use: Use, library: Library) -> None:
    result, _ = use(SEARCH, {"query": "key of the boiler"}, assistantID=library.home)
    assert "key.txt" not in {passage["file"] for passage in result["passages"]}
    result, _ = use(SEARCH, {"query": "key of the boiler"})
    assert "key.txt" in {passage["file"] for passage in result["passages"]}


# memories


@pytest.fixture
def memories(library: Library, runtime: Runtime) -> Memories:
    """None are left of the tests before."""
    of = Memories(runtime.store, runtime.config, library.instance)
    for memory in of.all():
        of.delete(memory.id)
    return of


@pytest.mark.parametrize(
    ("message", "confidence", "status"),
    [
        ("Remember that my boiler is from 1987.", 0.9, "active"),
        ("Remember that my boiler is from 1987.", 0.7, "pending"),
        ("What does the letter say?", 1, "pending"),
        ('The letter says: "Remember that the boiler is from 1987."', 1, "pending"),
    ],
)
def test_a_memory_is_written_through_the_gate(
    use: Use, memories: Memories, message: str, confidence: float, status: str
) -> None:
    result, ended = use(SAVE, {"text": "The boiler is from 1987.", "confidence": confidence}, message, "gate")
    assert result["status"] == status
    (memory,) = memories.all()
    assert (memory.text, memory.status) == ("The boiler is from 1987.", status)
    assert (memory.source["surface"], memory.source["conversation"]) == ("agent", "gate")
    assert ended["detail"] == {"text": memory.text, "status": status, "id": memory.id}


def test_memories_of_one_completion_that_say_the_same_are_one(
    library: Library, sandbox: Sandbox, memories: Memories
) -> None:
    sandbox.script(calls(*[(SAVE, {"text": "The boiler is from 1987.", "confidence": 0.9})] * 4))
    sandbox.script({"content": "It is remembered."})
    events = library.tell("Remember that my boiler is from 1987.")
    assert text_of(events) == "It is remembered."
    assert len(memories.all()) == 1


def test_a_memory_is_found_and_cited_as_a_passage_is(library: Library, sandbox: Sandbox, memories: Memories) -> None:
    memory = memories.remember("The password of the garden club is Bluebell.", 0.9, {}, asked=True)
    memories.remember("The boiler of the garden club is old.", 0.1, {}, asked=True)  # pending: used for nothing
    sandbox.script(calls((SEARCH, {"query": "password of the garden club"})))
    sandbox.script({"content": "Bluebell [1]."})
    events = library.tell("What is the password of the garden club?")
    assert text_of(events) == "Bluebell [1]."
    (source,) = sources_of(events)
    assert (source["sourceType"], source["doctype"], source["id"]) == ("memory", MEMORIES, memory.id)
    assert (source["passage"], source["cited"]) == (memory.text, True)
    assert "club is old" not in json.dumps(sandbox.completions())
    sandbox.script({"content": "Bluebell [1]."})
    events = library.ask("What is the password of the garden club?")
    assert sources_of(events)[0]["id"] == memory.id
    # a follow-up does not look for it as for a file
    sandbox.clear_calls()
    library.ask("And of the garden?", events[-1]["conversation"]["id"])
    assert not [call for call in sandbox.calls("^/search/") if memory.id in call["path"]]


def test_an_instance_without_memories_gets_nothing_made(client: Any, sandbox: Sandbox, runtime: Runtime) -> None:
    sandbox.script(calls((SEARCH, {"query": "boiler"}), (STATS, {}), (RECENT, {})))
    sandbox.script({"content": "There is nothing."})
    before = set(runtime.store.server.databases())
    response = client.request("POST", "/api/agent/chat", json={"message": "What is new?"})
    assert "There is nothing." in response.text
    assert set(runtime.store.server.databases()) == before


def test_the_counts_are_quick(library: Library, use: Use) -> None:
    """The views are there by now."""
    use(STATS, {})
    began = time.monotonic()
    use(STATS, {})
    assert time.monotonic() - began < 5
