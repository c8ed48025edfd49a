"""`ragcore rag`, as an operator types it."""

import importlib
import json
from collections.abc import Callable

import pytest
from click.testing import CliRunner

from deploy.cli import main
from deploy.cli.context import Context
from deploy.local.stack import Stack
from ragcore.documents import ASSISTANTS
from ragcore.instances import Instance
from ragcore.jobs import WalkJob
from ragcore.openrag import OpenRag
from ragcore.runtime import Runtime
from ragcore.turns import take_turn
from ragcore.work import Work
from tasks.app import create_app
from tasks.base import CeleryQueue
from tests.support.cli import Result, one_line
from tests.support.files import Drive
from tests.support.sandbox import Sandbox

COMMANDS = ("reset", "reconcile", "prune", "purge")


@pytest.fixture
def work(runtime: Runtime) -> Work:
    return Work(runtime, CeleryQueue(create_app(runtime.config)))


@pytest.fixture
def rag(ragcore: Callable[..., Result], instance: Instance) -> Callable[..., Result]:
    return lambda command, *words, **environment: ragcore(
        "rag", command, "--domain", instance.domain, *words, **environment
    )


@pytest.fixture
def openrag(runtime: Runtime, instance: Instance) -> OpenRag:
    return runtime.openrag(instance)


@pytest.fixture
def folder(runtime: Runtime, instance: Instance, work: Work, openrag: OpenRag, until: Callable) -> str:
    """The id of an indexed folder with one file, whose assistant is gone."""
    drive = Drive(runtime, instance)
    folder = drive.folder("/Papers")
    drive.file("/Papers/one.txt", "first")
    assistant = drive.assistant(folder)
    work.feed(instance.domain)
    until(lambda: openrag.workspaces() and set(openrag.files(folder.id)))
    until(lambda: work.ledger.get(WalkJob(instance.domain, folder.id)) is None)
    runtime.store.delete(instance, ASSISTANTS, runtime.store.get(instance, ASSISTANTS, assistant))
    return folder.id


def done(result: Result) -> str:
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def test_a_reset_prints_its_job(rag: Callable[..., Result], work: Work, instance: Instance, until: Callable) -> None:
    job, job_id, *words = done(rag("reset")).split()
    assert [job, *words] == ["job", "is", "enqueued"]
    until(lambda: work.documents(instance.domain).get(job_id)["state"] == "done")
    (job_id,) = json.loads(done(rag("reset", "--json")))["jobs"]
    assert work.documents(instance.domain).get(job_id)["message"] == {"doctype": "io.cozy.files"}


def test_a_reconcile_prints_a_job_for_each_folder(
    rag: Callable[..., Result], work: Work, instance: Instance, runtime: Runtime
) -> None:
    assert "no folder" in done(rag("reconcile"))
    assert json.loads(done(rag("reconcile", "--json"))) == {"jobs": []}
    drive = Drive(runtime, instance)
    folders = [drive.folder("/One"), drive.folder("/Two")]
    for folder in folders:
        drive.assistant(folder)
    assert len(done(rag("reconcile")).splitlines()) == 2
    (job_id,) = json.loads(done(rag("reconcile", "--dir-id", folders[0].id, "--json")))["jobs"]
    assert work.documents(instance.domain).get(job_id)["message"]["reconcile_dir_id"] == folders[0].id
    assert "unknown" in one_line(rag("reconcile", "--dir-id", "unknown"))


def test_prune_and_purge_print_their_counts(rag: Callable[..., Result], folder: str, openrag: OpenRag) -> None:
    assert done(rag("prune")) == "1 file scanned, 1 deleted; 1 workspace deleted\n"
    assert openrag.workspaces() == set()
    counts = {"files_scanned": 0, "files_deleted": 0, "workspaces_deleted": 0}
    assert json.loads(done(rag("prune", "--json"))) == counts
    assert done(rag("purge")) == "0 files scanned, 0 deleted; 0 workspaces deleted\n"
    assert openrag.workspaces() is None


@pytest.mark.parametrize("command", ["prune", "purge"])
def test_a_failure_of_openrag_is_one_line(
    rag: Callable[..., Result], sandbox: Sandbox, instance: Instance, command: str
) -> None:
    sandbox.fault(route=f"^/partition/{instance.domain}/?$", method="GET", times=None, status=500, body="Traceback")
    line = one_line(rag(command))
    assert line.startswith("ragcore: ")
    assert "openRAG" in line
    assert "Traceback" not in line


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_domain_is_one_line(ragcore: Callable[..., Result], command: str) -> None:
    assert "nobody.localhost" in one_line(ragcore("rag", command, "--domain", "nobody.localhost"))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_domain_is_needed(ragcore: Callable[..., Result], command: str) -> None:
    result = ragcore("rag", command)
    assert result.returncode == 2
    assert "--domain" in result.stderr


def test_without_redis_it_fails_and_nothing_is_deleted_later(
    rag: Callable[..., Result], work: Work, instance: Instance
) -> None:
    result = rag("purge", RAGCORE_REDIS_URL="redis://:hidden@127.0.0.1:1/0")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.splitlines()[-1].startswith("ragcore: ")
    assert "Redis does not answer" in result.stderr
    assert "hidden" not in result.stderr
    assert [owed for owed in work.ledger.all() if owed.domain == instance.domain] == []


def test_one_that_takes_longer_prints_its_job(
    stack: Stack, work: Work, instance: Instance, monkeypatch: pytest.MonkeyPatch, until: Callable
) -> None:
    monkeypatch.setattr(importlib.import_module("deploy.cli.rag"), "WAIT", 0.3)
    monkeypatch.setattr(Context, "queue", work.queue)
    turn = take_turn(work.runtime.redis, instance.domain, "another")
    try:
        result = CliRunner().invoke(main, ["rag", "prune", "--domain", instance.domain])
    finally:
        work.push_again(turn.end())
    assert result.exit_code == 0
    _, job_id, *_ = result.stdout.split()
    assert result.stdout.startswith("job ")
    until(lambda: work.documents(instance.domain).get(job_id)["state"] == "done")
