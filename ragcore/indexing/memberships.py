"""The memberships of many files, from a listing of each workspace: fewer calls than one for each file."""

import threading
from dataclasses import dataclass, field

from ragcore.openrag import OpenRag

MOST = 100_000  # memberships that are held in memory


@dataclass
class Memberships:
    """As long as a run lasts. A listing that has grown old is a reason to ask again, never to change anything."""

    openrag: OpenRag
    workspaces: int  # about as many listings are to be read
    _asked: int = 0
    _listed: dict[str, set[str]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def are_known_as(self, file_id: str, workspaces: frozenset[str]) -> bool:
        """Whether a listing has the file in these workspaces and in no other; False when nothing was listed yet.

        The workspaces are listed once so many files were asked for as listing them takes calls. Raises Retryable.
        """
        if self._is_worth_it():
            self._listed = self._list()
        return bool(workspaces) and {name for name, files in self._listed.items() if file_id in files} == workspaces

    def _is_worth_it(self) -> bool:
        with self._lock:
            self._asked += 1
            return self._asked == self.workspaces + 2

    def _list(self) -> dict[str, set[str]]:
        """Empty when there are too many."""
        listed: dict[str, set[str]] = {}
        left = MOST
        for workspace in self.openrag.workspaces() or ():
            files = listed[workspace] = set()
            for file_id in self.openrag.files(workspace):
                files.add(file_id)
                left -= 1
                if left < 0:
                    return {}
        return listed
