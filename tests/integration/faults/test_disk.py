"""The disk full under `fs.url`: a small file system of the test's own."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy.local.stack import Stack
from ragcore.documents import FILES, ROOT_ID
from ragcore.errors import Full
from ragcore.files.edit import Editor
from ragcore.files.storage import TEMPORARY
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.integration.faults.conftest import Start
from tests.support.api import Client
from tests.support.chaos import Tell
from tests.support.cli import run_in
from tests.support.files import Drive
from tests.support.rule import World, figures

SIZE = 4 << 20  # bytes of the disk
LEFT = 256 << 10  # bytes that a full one has left
LARGE = b"large " * (LEFT // 3)


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("disk")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("a file system of its own can be mounted by root alone")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture(scope="module")
def own(start_stack: Start, disk: Path) -> Iterator[Stack]:
    with start_stack("redis", "couchdb", "openrag", "api", "worker-index", fs={"url": disk.as_uri()}) as stack:
        yield stack


@pytest.fixture
def drive(runtime: Runtime, instance: Instance) -> Drive:
    drive = Drive(runtime, instance)
    drive.assistant(drive.folder("/Papers"))
    return drive


@pytest.fixture
def client(runtime: Runtime, instance: Instance) -> Client:
    return Client(runtime.config.public_url(instance.domain), instance, FILES)


class Filler:
    """What fills the disk."""

    def __init__(self, disk: Path) -> None:
        self._place = disk / "filler"
        self._disk = disk

    def fill(self) -> None:
        free = os.statvfs(self._disk)
        self._place.write_bytes(bytes(free.f_bavail * free.f_frsize - LEFT))

    def empty(self) -> None:
        self._place.unlink(missing_ok=True)


@pytest.fixture
def filler(disk: Path) -> Iterator[Filler]:
    filler = Filler(disk)
    yield filler
    filler.empty()


def halves(drive: Drive, disk: Path) -> dict[str, int]:
    """What is not whole: documents without their content, contents without a document, temporary files."""
    docs = drive.runtime.store.all(drive.instance, FILES)
    documents = {drive.editor.path_of(doc): doc for doc in docs if doc.get("type") == "file"}
    home = disk / drive.instance.domain
    contents = {f"/{place.relative_to(home)}": place for place in home.rglob("*") if place.is_file()}
    both = documents.keys() & contents.keys()
    return {
        "documents without content": len(documents.keys() - contents.keys()),
        "contents without document": len(contents.keys() - documents.keys()),
        "of another size": sum(int(documents[path]["size"]) != contents[path].stat().st_size for path in both),
        "temporary files": len(list((disk / TEMPORARY).glob("*"))),
    }


def test_uploads(
    own: Stack, disk: Path, filler: Filler, drive: Drive, client: Client, until: Callable, tell: Tell
) -> None:
    folder, world = drive.folder("/Papers"), World(own, drive.instance.domain)
    kept = drive.file("/Papers/kept.txt", "kept")
    filler.fill()
    refused = [client.request("POST", f"/files/{folder.id}?Type=file&Name={n}.txt", data=LARGE) for n in range(5)]
    small = client.request("POST", f"/files/{ROOT_ID}?Type=file&Name=small.txt", data=b"small")
    with pytest.raises(Full):
        drive.replace(kept, LARGE.decode())
    found = halves(drive, disk)
    filler.empty()
    again = client.request("POST", f"/files/{folder.id}?Type=file&Name=0.txt", data=LARGE)
    push_feed(client)
    until(world.is_settled, within=30)
    statuses = sorted({response.status_code for response in refused})
    told = {f"answered {status}": len(refused) for status in statuses}
    tell("6 uploads and a replacement", "the disk is full", **told, **found, afterwards=again.status_code,
         **figures([world]))  # fmt: skip
    assert statuses == [507]
    (error,) = refused[0].json()["errors"]
    assert (error["status"], error["detail"]) == ("507", "the storage of the files is full")
    assert (small.status_code, again.status_code) == (201, 201)
    assert not any(found.values())
    assert len(world.held()) == 2


def test_an_import(
    own: Stack, disk: Path, filler: Filler, drive: Drive, tmp_path: Path, until: Callable, tell: Tell
) -> None:
    world = World(own, drive.instance.domain)
    for number in range(8):
        (tmp_path / f"{number}.txt").write_bytes(b"%d" % number + LARGE[: LEFT // 2])
    command = ["files", "import", "--domain", drive.instance.domain, str(tmp_path), "--to", "/Papers"]
    filler.fill()
    full = run_in(own.environment(), *command)
    found, first = halves(drive, disk), len(files_of(drive.editor))
    filler.empty()
    again = run_in(own.environment(), *command)
    until(world.is_settled, within=30)
    tell("an import of 8 files", "the disk is full", imported_at_first=first, **found, exit_status=full.returncode,
         imported_by_the_next=len(files_of(drive.editor)) - first, **figures([world]))  # fmt: skip
    assert full.returncode == 1
    assert "the storage of the files is full" in full.stderr
    assert str(disk) not in full.stderr
    assert "Traceback" not in full.stderr
    assert not any(found.values())
    assert 0 < first < 8
    assert again.returncode == 0
    assert len(world.held()) == 8


def files_of(editor: Editor) -> list[str]:
    return [doc["_id"] for doc in editor.store.all(editor.instance, FILES) if doc.get("type") == "file"]


def push_feed(client: Client) -> None:
    body = {"data": {"attributes": {"arguments": {"doctype": FILES}}}}
    pusher = Client(client.base_url, client.instance, "io.cozy.jobs")
    assert pusher.request("POST", "/jobs/queue/rag-index", json=body).status_code == 202
