"""`python -m deploy.local up|status|down`: a stack that outlives the program that started it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from deploy.local import state
from deploy.local.layout import CHECKOUT


def run(command: str, data: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "deploy.local", command, "--data", str(data)]
    return subprocess.run(words, cwd=CHECKOUT, capture_output=True, text=True, timeout=90)


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    run("down", tmp_path)


def saved(data: Path) -> state.State:
    found = state.load(data)
    assert found is not None
    return found


def test_a_stack_in_the_background_lives_until_down(data: Path) -> None:
    first = run("up", data)
    assert first.returncode == 0, first.stderr
    started = saved(data)
    assert requests.get(started.urls["api"] + "/status", timeout=5).status_code == 200
    assert run("status", data).returncode == 0

    again = run("up", data)
    assert again.stdout.startswith("Runs already")
    assert started.urls["api"] in again.stdout
    assert saved(data) == started

    assert run("down", data).stdout == f"Stopped in {data}\n"
    assert started.living() == {}
    assert run("status", data).returncode == 1
    assert run("down", data).stdout == f"Nothing runs in {data}\n"


def test_down_leaves_a_process_alone_that_only_has_the_pid(data: Path) -> None:
    stranger = subprocess.Popen(["sleep", "60"])
    state.State(processes={"redis": state.Birth(stranger.pid, created=1.0)}).save(data)
    assert run("down", data).stdout == f"Nothing runs in {data}\n"
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    failed = run("up", tmp_path / "file" / "data")
    assert failed.returncode == 1
    assert failed.stderr.startswith("Error: no data folder can be made")
    assert failed.stderr.count("\n") == 1
