import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.local import state
from deploy.local.errors import AlreadyRunning


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


def birth_of(pid: int) -> state.Birth:
    birth = state.Birth.of(pid)
    assert birth is not None
    return birth


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    saved = state.State({"api": "http://x"}, birth_of(os.getpid()), {"redis": birth_of(os.getpid())})
    saved.save(tmp_path)
    assert state.load(tmp_path) == saved


def test_a_process_that_got_the_pid_later_is_not_taken_for_ours(child: subprocess.Popen[bytes]) -> None:
    ours = birth_of(child.pid)
    stranger = replace(ours, created=ours.created - 100)
    assert ours.find() is not None
    assert stranger.find() is None


def test_a_process_that_ended_is_not_found(child: subprocess.Popen[bytes]) -> None:
    ours = birth_of(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert ours.find() is None, "a zombie has ended"
    child.wait()
    assert ours.find() is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"urls": {}}', '{"urls": {}, "starter": 5, "processes": {}}'])
def test_a_file_that_says_nothing_is_no_stack(tmp_path: Path, text: str) -> None:
    (tmp_path / "stack.json").write_text(text)
    assert state.load(tmp_path) is None


def test_two_starts_in_one_folder_exclude_each_other(tmp_path: Path) -> None:
    with state.exclusively(tmp_path):
        other = state.exclusively(tmp_path)
        with pytest.raises(AlreadyRunning, match=str(tmp_path)):
            other.__enter__()
    with state.exclusively(tmp_path):
        pass
