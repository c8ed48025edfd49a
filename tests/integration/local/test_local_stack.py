"""The stack as whole processes: comes up as one, goes as one, leaves nothing."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis
import requests

from deploy.local import stack, state
from deploy.local.errors import AlreadyRunning, StackError, StartFailed
from deploy.local.layout import CHECKOUT
from deploy.local.stack import Stack

SERVERS = ["redis", "couchdb", "openrag"]

FOREGROUND = """
import sys
from deploy.local.errors import StackError
from deploy.local.stack import Stack
try:
    with Stack(sys.argv[1], services=["redis", "couchdb"]) as stack:
        stack.wait()
except StackError as error:
    sys.exit(str(error))
"""


def pids(running: Stack) -> list[int]:
    return [process.pid for process in running.processes.values()]


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def change_service(monkeypatch: pytest.MonkeyPatch, name: str, **changes: Any) -> None:
    """Give a server another command. Its own would have to be broken on the disk, for all tests."""
    changed = [replace(one, **changes) if one.name == name else one for one in stack.SERVERS]
    monkeypatch.setattr(stack, "SERVERS", tuple(changed))


def test_the_servers_come_up_and_nothing_of_them_stays(tmp_path: Path) -> None:
    with Stack(tmp_path, services=SERVERS) as running:
        assert redis.Redis.from_url(running.url("redis")).ping()
        assert requests.get(running.url("couchdb"), timeout=5).json()["couchdb"] == "Welcome"
        assert requests.get(running.url("openrag") + "/health_check", timeout=5).status_code == 200
        assert sorted(path.stem for path in (tmp_path / "logs").iterdir()) == sorted(SERVERS)
        trees = [psutil.Process(pid).children(recursive=True) for pid in pids(running)]
        started = [*pids(running), *(child.pid for tree in trees for child in tree)]
    assert all(gone(pid) for pid in started)
    assert not (tmp_path / "stack.json").exists()


def test_two_stacks_run_side_by_side(tmp_path: Path) -> None:
    with (
        Stack(tmp_path / "one", services=["redis"]) as one,
        Stack(tmp_path / "two", services=["redis"]) as two,
    ):
        redis.Redis.from_url(one.url("redis")).set("name", "one")
        assert redis.Redis.from_url(two.url("redis")).get("name") is None


def test_a_second_stack_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    with Stack(tmp_path, services=["redis"]) as running:
        with pytest.raises(AlreadyRunning, match=str(tmp_path)):
            Stack(tmp_path, services=["redis"]).start()
        running.check()


def test_what_redis_held_is_there_after_a_restart(tmp_path: Path) -> None:
    with Stack(tmp_path, services=["redis"]) as running:
        client = redis.Redis.from_url(running.url("redis"))
        client.set("kept", "yes")
        running.processes["redis"].restart()
        assert client.get("kept") == b"yes"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["sh", "-c", "echo begins; echo 'Error: no such folder'; exit 3"], "status 3: Error: no such folder"),
        (["sh", "-c", "kill -9 $$"], "ended by signal 9: it said nothing"),
        (["no-such-command"], "no-such-command is not installed"),
    ],
)
def test_a_process_that_does_not_come_up_is_named_and_the_others_are_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], why: str
) -> None:
    change_service(monkeypatch, "couchdb", argv=lambda layout: command)
    running = Stack(tmp_path, services=["redis", "couchdb"])
    with pytest.raises(StartFailed, match=f"^couchdb did not start: .*{why}") as failure:
        running.start()
    assert "\n" not in str(failure.value)
    assert "not installed" in why or str(tmp_path / "logs" / "couchdb.log") in str(failure.value)
    assert gone(running.processes["redis"].pid)


def test_a_port_that_was_taken_meanwhile_is_chosen_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = tmp_path / "tried"
    script = f"[ -e {tried} ] && exec sleep 60; touch {tried}; echo 'bind: Address already in use'; exit 1"
    change_service(
        monkeypatch,
        "couchdb",
        argv=lambda layout: ["sh", "-c", script],
        is_ready=lambda layout, process: tried.exists(),
    )
    with Stack(tmp_path, services=["redis", "couchdb"]) as running:
        assert redis.Redis.from_url(running.url("redis")).ping()
        assert str(running.url("redis")) in running.config_path.read_text()


def test_a_process_that_dies_is_told(tmp_path: Path) -> None:
    with Stack(tmp_path, services=["redis", "couchdb"]) as running:
        running.processes["couchdb"].kill()
        with pytest.raises(StackError, match=r"^couchdb was ended by signal 9: .*couchdb\.log"):
            running.wait()


@pytest.fixture
def foreground(tmp_path: Path, until: Callable[..., Any]) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A program that has a stack in the foreground, and the pids of that stack."""
    program = subprocess.Popen(
        [sys.executable, "-c", FOREGROUND, str(tmp_path)],
        cwd=CHECKOUT,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_signals,
    )
    redis_log = tmp_path / "logs" / "redis.log"
    until(lambda: (found := state.load(tmp_path)) and len(found.living()) == 2 and redis_log.exists())
    found = state.load(tmp_path)
    assert found
    yield program, [birth.pid for birth in found.processes.values()]
    program.kill()
    program.communicate()


def hear_signals() -> None:
    """As in a terminal: who runs the tests in the background may ignore these, and a child inherits that."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_however_the_starter_ends_its_processes_end(
    foreground: tuple[subprocess.Popen[str], list[int]], until: Callable[..., Any], number: signal.Signals
) -> None:
    program, started = foreground
    program.send_signal(number)
    program.wait(timeout=20)
    until(lambda: all(gone(pid) for pid in started))


def test_a_death_ends_the_starter_with_one_line(foreground: tuple[subprocess.Popen[str], list[int]]) -> None:
    program, started = foreground
    os.kill(started[0], signal.SIGKILL)
    _, said = program.communicate(timeout=20)
    assert program.returncode == 1
    assert said.startswith("redis ")
    assert said.count("\n") == 1
    assert all(gone(pid) for pid in started)


def test_setup_installs_nothing_twice() -> None:
    if not (CHECKOUT / ".venv" / ".installed").exists():
        pytest.skip("this checkout was set up by hand")
    done = subprocess.run(
        ["bash", "deploy/local/setup.sh"], cwd=CHECKOUT, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == ""


def test_names_of_services_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no such service: mongo"):
        Stack(tmp_path, services=["mongo"])
