"""`ragcore files import`, as a person runs it."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy.local.stack import Stack
from ragcore.documents import FILES, STATUSES
from ragcore.files.tree import Tree
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.support.cli import Result, run_in
from tests.support.files import Drive

Ragcore = Callable[..., Result]


@pytest.fixture
def import_(stack: Stack, instance: Instance) -> Ragcore:
    return lambda *words: run_in(stack.environment(), "files", "import", "--domain", instance.domain, *words)


def test_the_default_target_and_the_summary(import_: Ragcore, tmp_path: Path, runtime, instance) -> None:
    local = tmp_path / "My papers é"
    (local / "Sub").mkdir(parents=True)
    (local / "Sub" / "a.txt").write_text("first")
    (local / "link").symlink_to("Sub")
    done = import_(str(local))
    assert (done.returncode, done.stdout) == (0, "1 added, 0 changed, 0 moved, 0 trashed, 0 unchanged, 1 folder\n")
    assert done.stderr == "warning: link is left out: links are not followed\n"
    assert Tree(runtime.store, instance).at("/My papers é/Sub")
    done = import_(str(local), "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout) == {
        "added": 0,
        "changed": 0,
        "moved": 0,
        "trashed": 0,
        "unchanged": 1,
        "folders": 0,
        "failed": 0,
        "warnings": ["link is left out: links are not followed"],
    }


def test_what_is_imported_is_indexed(import_: Ragcore, tmp_path: Path, runtime: Runtime, instance, until) -> None:
    drive = Drive(runtime, instance)
    drive.assistant(drive.folder("/Docs"))
    (tmp_path / "a.txt").write_text("first")
    assert import_(str(tmp_path), "--to", "/Docs").returncode == 0
    (file,) = (doc for doc in runtime.store.all(instance, FILES) if doc["name"] == "a.txt")
    until(lambda: runtime.store.get_many(instance, STATUSES, [file["_id"]]).get(file["_id"], {}).get("indexed"))


def test_what_cannot_be_read_is_told_at_the_end(import_: Ragcore, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("first")
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):  # deeper than a path can be long
        os.mkdir("d" * 250, dir_fd=here)
        below = os.open("d" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    done = import_(str(tmp_path), "--to", "/Docs")
    assert done.returncode == 1
    assert done.stdout.startswith("1 added, ")
    # the folder that is too deep to be read here, and, where our own paths are longer, one for the storage
    assert re.search(r", [12] failed\n$", done.stdout)


@pytest.mark.parametrize("to", ["/.cozy_trash/x", "/a/../b"])
def test_a_bad_target(import_: Ragcore, tmp_path: Path, to: str) -> None:
    done = import_(str(tmp_path), "--to", to)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("ragcore: ")


def test_a_folder_that_is_not_there(import_: Ragcore, tmp_path: Path) -> None:
    assert import_(str(tmp_path / "gone")).returncode == 2
