"""Files that are added, changed, moved and trashed, and assistants whose folders change: at random, all the time."""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from ragcore.documents import ASSISTANTS, FILES, Directory
from ragcore.errors import Conflict, RagcoreError
from ragcore.runtime import Runtime
from ragcore.store import Document
from ragcore.work import Work
from tasks.app import create_app
from tasks.base import CeleryQueue
from tests.support.files import Drive, new_instance

EVERY = 0.2  # seconds
PLACES = ("/A", "/A/one", "/A/two", "/B", "/B/one", "/C", "/C/one")  # /C is nobody's at first


@dataclass
class Turmoil:
    """The same `chance` makes the same changes. `told` is called after each, as a trigger would be."""

    drive: Drive
    chance: random.Random
    told: Callable[[], object]
    changes: int = 0
    _files: list[str] = field(default_factory=list)
    _folders: list[str] = field(default_factory=list)
    _assistants: list[str] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._run, daemon=True)

    def begin(self, files: int, go_on: bool = True) -> None:
        """Folders with files in them and two assistants, then a change each moment until `end`."""
        self._folders = [self.drive.folder(path).id for path in PLACES]
        for _ in range(files):
            self._add()
        self._assistants = [self.drive.assistant(self.drive.folder(path)) for path in ("/A", "/B")]
        if go_on:
            self._thread.start()

    @property
    def domain(self) -> str:
        return self.drive.instance.domain

    def end(self) -> None:
        """No more changes, and the last one is told."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        self.told()

    def _run(self) -> None:
        while not self._over.wait(EVERY):
            self.change()

    def change(self) -> None:
        kinds = [self._add, self._replace, self._move, self._trash, self._move_folder, self._give_folder]
        try:
            self.chance.choices(kinds, [6, 4, 4, 2, 1, 1])[0]()
            self.told()
            self.changes += 1
        except RagcoreError:  # a name that is taken, a folder into itself, or what a test has broken
            return

    def _add(self) -> None:
        number = self.chance.getrandbits(48)
        path = self._path(self.chance.choice(self._folders))
        self._files.append(self.drive.file(f"{path}/{number}.txt", f"number {number}")["_id"])

    def _replace(self) -> None:
        self.drive.replace(self._fresh(self.chance.choice(self._files)), f"again {self.chance.getrandbits(48)}")

    def _move(self) -> None:
        doc, parent = self._fresh(self.chance.choice(self._files)), self._parent()
        if doc["dir_id"] != parent.id:
            self.drive.editor.move(doc, parent, doc["name"])

    def _trash(self) -> None:
        doc = self._fresh(self._files.pop(self.chance.randrange(len(self._files))))
        self.drive.editor.trash(doc)

    def _move_folder(self) -> None:
        doc = self._fresh(self.chance.choice(self._folders))
        self.drive.editor.move(doc, self._parent(), f"{self.chance.getrandbits(24)}")

    def _give_folder(self) -> None:
        store, instance = self.drive.runtime.store, self.drive.instance
        doc = store.get(instance, ASSISTANTS, self.chance.choice(self._assistants))
        entry = {"_id": self.chance.choice(self._folders), "_type": FILES}
        try:
            store.save(instance, ASSISTANTS, doc | {"relationships": {"knowledgeBase": {"data": [entry]}}})
        except Conflict:
            return

    def _fresh(self, doc_id: str) -> Document:
        return self.drive.runtime.store.get(self.drive.instance, FILES, doc_id)

    def _path(self, dir_id: str) -> str:
        return str(self._fresh(dir_id)["path"])

    def _parent(self) -> Directory:
        return Directory.from_document(self._fresh(self.chance.choice(self._folders)))


def turmoil_of(runtime: Runtime, chance: random.Random, told: Callable[[], object] | None = None) -> Turmoil:
    """Of an instance of its own; its feed is pushed after each change, unless something else is `told`."""
    drive = Drive(runtime, new_instance(runtime))
    work = Work(runtime, CeleryQueue(create_app(runtime.config)))
    return Turmoil(drive, chance, told or (lambda: work.feed(drive.instance.domain)))
