"""The memberships of many files, from a listing of each workspace: fewer calls than one for each file."""

import threading
from contextlib import suppress
from dataclasses import dataclass, field

from ragcore.errors import RagcoreError
from ragcore.openrag import OpenRag

MOST = 100_000  # memberships that are held in memory
FOR_EACH = 100  # memberships that are read rather than asking for one file


@dataclass
class Memberships:
    """As long as a run lasts. A listing that has grown old is a reason to ask again, never to change anything."""

    openrag: OpenRag
    workspaces: int  # about as many listings are to be read
    batch: int | None = None  # files that are asked for at most, where that is known
    _asked: int = 0
    _is_listed: bool = False
    _listed: dict[str, set[str]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def are_known_as(self, file_id: str, workspaces: frozenset[str]) -> bool:
        """Whether a listing has the file in these workspaces and in no other; False when nothing was listed yet."""
        return bool(workspaces) and {name for name, files in self._listed.items() if file_id in files} == workspaces

    def have_none_of(self, file_id: str) -> bool:
        """Whether a listing has the file in no workspace: openRAG hardly knows it then.

        To be asked once for each file: the workspaces are listed once so many were as listing them takes calls.
        """
        if self._is_worth_it():
            with suppress(RagcoreError):  # then each file is asked for
                self._list()
        return self._is_listed and not any(file_id in files for files in self._listed.values())

    def _is_worth_it(self) -> bool:
        with self._lock:
            self._asked += 1
            return self._asked == self.workspaces + 2

    def _list(self) -> None:
        """Not when there are too many."""
        listed: dict[str, set[str]] = {}
        left = MOST if self.batch is None else min(MOST, self.batch * FOR_EACH)
        for workspace in self.openrag.workspaces() or ():
            files = listed[workspace] = set()
            for file_id in self.openrag.files(workspace):
                files.add(file_id)
                left -= 1
                if left < 0:
                    return
        self._listed, self._is_listed = listed, True
