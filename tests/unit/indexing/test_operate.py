from types import SimpleNamespace
from typing import Any

import pytest

from ragcore.errors import Failed
from ragcore.indexing import operate
from ragcore.indexing.operate import Counts, wait_for

RESULT = {"files_scanned": 3, "files_deleted": 2, "workspaces_deleted": 1}


class Documents:
    """The documents of one job, as it goes on; the last one stays."""

    def __init__(self, *found: dict[str, Any]) -> None:
        self._found = list(found)

    def get(self, job_id: str) -> dict[str, Any]:
        assert job_id == "j"
        return self._found.pop(0) if len(self._found) > 1 else self._found[0]


def waited(*found: dict[str, Any], seconds: float = 60) -> Counts | None:
    work: Any = SimpleNamespace(documents=lambda domain: Documents(*found))
    return wait_for(work, "alice.localhost", "j", seconds)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operate, "LOOK_EVERY", 0)


def test_the_counts_of_a_job_that_is_done() -> None:
    states = [{"state": "queued"}, {"state": "running"}, {"state": "done", "error": "", "result": RESULT}]
    assert waited(*states) == Counts(3, 2, 1)


@pytest.mark.parametrize("state", ["queued", "running"])
def test_a_job_that_takes_longer_has_no_counts_yet(state: str) -> None:
    assert waited({"state": state}, seconds=0) is None


def test_a_job_that_ends_at_the_last_moment_is_done() -> None:
    assert waited({"state": "done", "result": RESULT}, seconds=0) == Counts(3, 2, 1)


def test_what_a_job_failed_with_is_raised() -> None:
    with pytest.raises(Failed, match="^openRAG answered 503$"):
        waited({"state": "running"}, {"state": "errored", "error": "openRAG answered 503"})
