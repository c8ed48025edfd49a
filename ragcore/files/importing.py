"""Makes a folder of an instance equal to a local folder, writing only what changed, moved or vanished.

A file is unchanged when its size and its time are those of the document (`updated_at`, in milliseconds): its content
is not read then. What vanished goes to the trash. An import that was cut off at any place is ended by doing it again.
"""

from ragcore.documents import TRASH_PATH, is_inside
from ragcore.errors import Invalid, NotFound
from ragcore.files.applying import Application, Progress, Summary
from ragcore.files.edit import Editor
from ragcore.files.local import LocalFolder, Warn, md5_of, read_local
from ragcore.files.planning import KnownFolder, Plan, make_plan, read_known


class Import:
    """One import: `plan`, then `apply`. `summary` tells at any time what was done.

    Raises Invalid for a target in the trash, Conflict for one that is a file or when somebody else moves its folders
    meanwhile, Retryable when the storage or the documents cannot be written. What fails for one file is a warning,
    and the rest goes on.
    """

    def __init__(self, editor: Editor, root: str, target: str, warn: Warn) -> None:
        self.summary = Summary()
        self._editor = editor
        self._root = root
        self._target = "/" + "/".join(filter(None, target.split("/")))
        self._warn = warn
        self._local = LocalFolder(root)
        self._plan = Plan()
        self._is_new = False
        if is_inside(self._target, TRASH_PATH):
            raise Invalid("files cannot be imported into the trash")

    def plan(self) -> int:
        """Compares the two folders, and writes nothing but what every instance has.

        Gives the amount of work that the progress of `apply` adds up to: a unit for each step and each byte.
        """
        self._editor.prepare()
        self._editor.storage.tidy()
        reserved = TRASH_PATH.strip("/") if self._target == "/" else ""
        self._local = read_local(self._root, self._warn, reserved)
        self._plan = make_plan(self._local, self._known(), lambda path: md5_of(self._local, path))
        self.summary.unchanged = self._plan.unchanged
        self.summary.failed = len(self._local.unknown)
        return self._plan.steps + sum(self._local.files[step.path].size for step in self._plan.contents)

    def _known(self) -> KnownFolder:
        try:
            target = self._editor.tree.at(self._target)
        except NotFound:
            self._is_new = True
            return KnownFolder()
        return read_known(self._editor.tree, target.id)

    def apply(self, progress: Progress) -> Summary:
        """`progress` is called with the units of work that were done since the last call."""
        target = self._editor.mkdir(self._target)
        self.summary.wrote = self._is_new
        Application(self._editor, target, self._local, self._plan, self.summary, self._warn, progress).run()
        return self.summary
