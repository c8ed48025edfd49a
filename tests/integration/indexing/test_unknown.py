"""Unknown is not empty: what cannot be read deletes nothing, and the checkpoint stays."""

from collections.abc import Callable

import pytest

from ragcore import turns
from ragcore.documents import FILES
from ragcore.errors import Retryable
from ragcore.indexing.feed import run_feed
from ragcore.instances import Instance
from ragcore.jobs import FeedJob
from ragcore.ledger import owed_id
from ragcore.openrag import OpenRag
from ragcore.runtime import Runtime
from ragcore.work import Work
from tasks.app import create_app
from tasks.base import CeleryQueue
from tests.support.between import Between
from tests.support.files import Drive
from tests.support.sandbox import Sandbox

GATEWAY = (404, {"message": "no route matched"})
ROWS = (200, {"rows": [{"key": "x", "error": "internal_server_error"}]})


@pytest.mark.parametrize(
    ("doctype", "answer"),
    [("io-cozy-ai-chat-assistants/_all_docs", GATEWAY), ("io-cozy-files/_all_docs", GATEWAY),
     ("io-cozy-files/_all_docs", ROWS), ("io-cozy-files/_changes", (200, {"results": [{"id": "x", "doc": None}]}))],
    ids=["assistants", "folders", "some folders", "changes"],
)  # fmt: skip
def test_what_cannot_be_read_is_not_empty(
    work_between: Work, between: Between, runtime: Runtime, instance: Instance, drive: Drive, openrag: OpenRag,
    wake, idle, until: Callable, doctype: str, answer: tuple[int, object],
) -> None:  # fmt: skip
    folder = drive.folder("/Papers")
    file = drive.file("/Papers/one.txt", "first")
    drive.assistant(folder)
    wake()
    until(lambda: openrag.workspaces() and set(openrag.files(folder.id)) == {file["_id"]})
    idle()
    before = runtime.store.get_or_new(instance, FILES, "_local/rag-index")
    job = FeedJob(instance.domain)
    turns.mark(runtime.redis, owed_id(job))  # or the sweep would give it to the stack's workers
    work_between.ledger.add(job)
    between.spoil = lambda method, path: answer if doctype in path.replace("%2F", "/") else None
    with pytest.raises(Retryable):
        run_feed(work_between, job)
    turns.mark(runtime.redis, owed_id(job))
    assert set(openrag.files(folder.id)) == {file["_id"]}
    assert runtime.store.get_or_new(instance, FILES, "_local/rag-index") == before
    between.spoil = lambda method, path: None
    run_feed(work_between, job)


@pytest.mark.parametrize("status", [200, 201, 204, 302, 304, 404])
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_page_of_somebody_in_between_is_no_answer_of_openrag(
    runtime: Runtime, instance: Instance, sandbox: Sandbox, until: Callable, method: str, status: int
) -> None:
    """A login page, a redirect, a 404 that is not openRAG's: the file is sent, or deleted, later."""
    if (method, status) == ("DELETE", 204):
        pytest.skip("a 204 has no body to tell by")
    drive = Drive(runtime, instance)
    folder = drive.folder("/Papers")
    file = drive.file("/Papers/one.txt", "first")
    drive.assistant(folder)
    openrag = runtime.openrag(instance)
    work = Work(runtime, CeleryQueue(create_app(runtime.config)))
    spoiled = {"method": method, "route": f"/file/{file['_id']}$", "times": 1, "status": status}
    page = {"body": "<html>sign in</html>", "headers": {"Location": "/indexer/supported/types"}}
    if method == "POST":
        sandbox.fault(**spoiled, **page)
    work.feed(instance.domain)
    until(lambda: openrag.workspaces() and set(openrag.files(folder.id)) == {file["_id"]}, within=30)
    if method == "DELETE":
        sandbox.fault(**spoiled, **page)
        drive.editor.trash(file)
        work.feed(instance.domain)
        until(lambda: set(openrag.files(folder.id)) == set(), within=30)
