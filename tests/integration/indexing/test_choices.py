"""What instances and operators choose: the openRAG server, the kinds of files; and what kinds of servers there are."""

import io
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests

from deploy.local.ports import choose_ports
from ragcore.config import Config, Context, RagServer
from ragcore.documents import FILES
from ragcore.errors import Retryable
from ragcore.instances import Instance
from ragcore.openrag import OpenRag
from ragcore.runtime import Runtime
from ragcore.store import Document
from tests.support.files import Drive
from tests.support.indexing import Indexer
from tests.support.sandbox import Sandbox

KINDS = ("image", "video", "audio")
Made = Callable[..., Indexer]


@pytest.fixture(scope="module")
def beta(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of another openRAG server."""
    port = choose_ports(("beta",), {})["beta"]
    data = tmp_path_factory.mktemp("beta")
    command = [sys.executable, "-m", "deploy.sandbox", "--port", str(port), "--data", str(data)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(10)


@pytest.fixture
def config(runtime: Runtime, beta: str, until: Callable) -> Config:
    """With a second server, and a context of its name that chooses otherwise than an instance may."""

    def answers() -> bool:
        try:
            return requests.get(f"{beta}/health_check", timeout=5).ok
        except requests.ConnectionError:
            return False

    until(answers)
    plain = runtime.config
    features = {"rag.index.image.enabled": True}
    contexts = {**plain.contexts, "beta": Context(), "photos": Context(features=features)}
    contexts["flagged"] = Context(features={"rag.server": "beta"})
    servers = {**plain.rag, "beta": RagServer(url=beta)}
    return plain.model_copy(update={"rag": servers, "contexts": contexts})


@pytest.fixture
def made(config: Config, sandbox: Sandbox, until: Callable) -> Made:
    """Makes an instance of a context, with flags, and an assistant on its folder `/Papers`."""

    def make(context: str = "", **flags: Any) -> Indexer:
        runtime = Runtime(config)
        instance = runtime.instances.add(f"t{uuid.uuid4().hex[:12]}.localhost", context)
        drive = Drive(runtime, instance)
        drive.editor.prepare()
        drive.assistant(drive.folder("/Papers"))
        indexer = Indexer(runtime, instance, until)
        set_flags(indexer, {name.replace("_", "."): value for name, value in flags.items()})
        return indexer

    return make


def set_flags(indexer: Indexer, flags: dict[str, Any]) -> None:
    runtime = indexer.work.runtime
    runtime.instances.set_flags(indexer.instance.domain, flags)
    indexer.instance = runtime.instances.get(indexer.instance.domain)


def drive_of(indexer: Indexer) -> Drive:
    return Drive(indexer.work.runtime, indexer.instance)


def on(config: Config, server: str, indexer: Indexer, file: Document) -> bool:
    """Whether a server has the file."""
    openrag = OpenRag(requests.Session(), config.rag[server], indexer.instance.domain)
    return openrag.file_metadata(file["_id"]) is not None


@pytest.mark.parametrize(
    ("context", "flag", "server"),
    [
        ("", None, "default"),
        ("unknown", None, "default"),
        ("beta", None, "beta"),
        ("beta", "default", "default"),
        ("", "beta", "beta"),
        ("", "unknown", "default"),
        ("beta", "unknown", "beta"),
        ("flagged", None, "beta"),
        ("flagged", "default", "default"),
    ],
)
def test_the_server_of_an_instance(config: Config, made: Made, context: str, flag: str | None, server: str) -> None:
    indexer = made(context, rag_server=flag)
    file = drive_of(indexer).file("/Papers/one.txt", "one")
    indexer.read_feed(file)
    assert [name for name in ("default", "beta") if on(config, name, indexer, file)] == [server]


def test_an_instance_that_switches_and_comes_back(config: Config, made: Made) -> None:
    """The index is not moved: what the old server has stays there."""
    indexer = made()
    drive = drive_of(indexer)
    file = drive.file("/Papers/one.txt", "one")
    indexer.read_feed(file)
    set_flags(indexer, {"rag.server": "beta"})
    added = drive.file("/Papers/two.txt", "two")
    indexer.read_feed(added)
    assert on(config, "default", indexer, file)
    assert not on(config, "default", indexer, added)
    set_flags(indexer, {"rag.server": None})
    last = drive.file("/Papers/three.txt", "three")
    indexer.read_feed(last)
    assert on(config, "default", indexer, last)
    assert not on(config, "beta", indexer, last)


def scan(indexer: Indexer, kind: str = "image", name: str = "scan.txt") -> Document:
    """A file of a class, which the stand-in can read all the same."""
    drive = drive_of(indexer)
    fields = {"class": kind}
    return drive.editor.add_file(drive.folder("/Papers"), name, io.BytesIO(f"{kind} {name}".encode()), **fields)


def flag_of(kind: str) -> str:
    return f"rag.index.{kind}.enabled"


@pytest.mark.parametrize("kind", KINDS)
def test_media_wait_for_their_flag(made: Made, sandbox: Sandbox, kind: str) -> None:
    indexer = made()
    others = [other for other in KINDS if other != kind]
    set_flags(indexer, {flag_of(kind): True})
    file = scan(indexer, kind)
    waiting = [scan(indexer, other, f"{other}.txt") for other in others]
    indexer.read_feed(file)
    for other in waiting:
        assert indexer.status(other)["reason"] == "media"
        assert (indexer.status(other)["status"], indexer.status(other)["docRev"]) == ("notsupported", other["_rev"])
        assert sandbox.calls(f"/file/{other['_id']}$") == [], "it costs no call"


@pytest.mark.parametrize("value", [False, None, "true", 1, "false"])
def test_a_flag_that_is_not_true_is_off(made: Made, value: Any) -> None:
    indexer = made()
    set_flags(indexer, {flag_of("image"): value})
    file = scan(indexer)
    indexer.read_feed()
    assert indexer.status(file)["status"] == "notsupported"


@pytest.mark.parametrize(("own", "indexed"), [(None, True), (True, True), (False, False)])
def test_flags_of_the_instance_go_before_those_of_its_context(made: Made, own: bool | None, indexed: bool) -> None:
    indexer = made("photos")
    set_flags(indexer, {flag_of("image"): own})
    file = scan(indexer)
    indexer.read_feed(*([file] if indexed else []))
    assert (indexer.status(file).get("status") == "notsupported") is not indexed


@pytest.mark.parametrize("how", ["walked", "changed"])
def test_a_flag_that_is_taken_back_and_set_again(made: Made, until: Callable, how: str) -> None:
    """It holds for a file when that is looked at again."""
    indexer = made()
    drive = drive_of(indexer)

    def look() -> Document:
        if how == "walked":
            indexer.walk_folder(drive.folder("/Papers").id)
        else:
            fresh = indexer.fresh(file["_id"])
            drive.runtime.store.save(drive.instance, FILES, {**fresh, "tags": [uuid.uuid4().hex]})
            indexer.read_feed()
        return indexer.fresh(file["_id"])

    set_flags(indexer, {flag_of("image"): True})
    file = scan(indexer)
    indexer.read_feed(file)
    until(lambda: indexer.status(file).get("status") == "success")
    set_flags(indexer, {flag_of("image"): None})
    fresh = look()
    assert indexer.content_of(file["_id"]) is None
    assert (indexer.status(file)["status"], indexer.status(file)["docRev"]) == ("notsupported", fresh["_rev"])
    set_flags(indexer, {flag_of("image"): True})
    fresh = look()
    indexer.wait_for(fresh)
    until(lambda: indexer.status(file).get("status") == "success")
    assert "reason" not in indexer.status(file)
    assert indexer.status(file)["docRev"] == fresh["_rev"]


@pytest.mark.parametrize("put", ["keep", "honour", "drop"])
def test_whatever_a_put_does_to_the_memberships(
    drive: Drive, indexer: Indexer, openrag: OpenRag, sandbox: Sandbox, put: str
) -> None:
    papers, books = drive.folder("/Papers"), drive.folder("/Books")
    for folder in (papers, books):
        drive.assistant(folder)
    file, moving = drive.file("/Papers/one.txt", "one"), drive.file("/Papers/two.txt", "two")
    indexer.read_feed(file, moving)
    sandbox.set(put_workspaces=put)
    sandbox.fault(method="PUT", route="/file/", delay=1, after=True, times=2)  # it is done when it answers
    file = drive.replace(file, "one more")
    moving = drive.replace(drive.editor.move(moving, books, "two.txt"), "two more")
    indexer.read_feed(file, moving)
    assert openrag.file_workspaces(file["_id"]) == {papers.id}
    assert openrag.file_workspaces(moving["_id"]) == {books.id}


@pytest.mark.parametrize("put", ["keep", "honour"])
def test_a_put_that_is_still_being_indexed(
    drive: Drive, indexer: Indexer, openrag: OpenRag, sandbox: Sandbox, put: str
) -> None:
    papers, books = drive.folder("/Papers"), drive.folder("/Books")
    for folder in (papers, books):
        drive.assistant(folder)
    file = drive.file("/Papers/one.txt", "one")
    indexer.read_feed(file)
    sandbox.set(put_workspaces=put, index_delay=300)
    file = drive.replace(drive.editor.move(file, books, "one.txt"), "one more")
    indexer.read_feed()
    sandbox.set(index_delay=0)
    indexer.wait_for(file)
    assert openrag.file_workspaces(file["_id"]) == {books.id}


def test_a_server_of_the_old_shapes(
    drive: Drive, indexer: Indexer, openrag: OpenRag, sandbox: Sandbox, instance: Instance
) -> None:
    sandbox.set(legacy=True)
    folder = drive.folder("/Papers")
    drive.assistant(folder)
    file, gone, copy = (drive.file(f"/Papers/{name}.txt", name[:3]) for name in ("file", "gone", "filed"))
    indexer.read_feed(gone)
    held, other = (file, copy) if indexer.content_of(file["_id"]) else (copy, file)
    assert indexer.status(other)["duplicateOf"] == held["_id"]
    changed = drive.replace(held, "changed")
    drive.editor.trash(gone)
    indexer.read_feed(changed, other)
    assert set(openrag.files(folder.id)) == {file["_id"], copy["_id"]}
    drive.runtime.store.delete(instance, FILES, changed)
    indexer.skip_feed()
    indexer.work.operate(instance.domain, "prune")
    indexer.run()
    assert set(openrag.files(folder.id)) == {other["_id"]}


def test_a_workspace_id_that_another_partition_holds(
    drive: Drive, indexer: Indexer, openrag: OpenRag, sandbox: Sandbox, runtime: Runtime
) -> None:
    """On servers where ids are unique: the other folders are served, and this one once the id is free."""
    sandbox.set(global_workspace_ids=True)
    taken, free = drive.folder("/Taken"), drive.folder("/Free")
    other = OpenRag(runtime.session, runtime.config.rag["default"], f"other-{indexer.instance.domain}")
    other.create_partition()
    other.create_workspace(taken.id, "of another")
    for folder in (taken, free):
        drive.assistant(folder)
    waiting, file = drive.file("/Taken/one.txt", "one"), drive.file("/Free/two.txt", "two")
    with pytest.raises(Retryable, match="taken by another partition"):
        indexer.read_feed()
    other_jobs = [job for job in indexer.jobs if getattr(job, "dir_id", "")]
    indexer.wait_for(file)
    assert openrag.workspaces() == {free.id}
    assert other.workspaces() == {taken.id}
    assert len(other_jobs) == 1
    other.delete_workspace(taken.id)
    indexer.run()
    indexer.wait_for(waiting)
    assert openrag.file_workspaces(waiting["_id"]) == {taken.id}
