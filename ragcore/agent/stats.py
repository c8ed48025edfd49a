"""`get_workspace_stats`: what there is, counted by views that the database keeps, not by reading documents."""

from collections import Counter

from ragcore.agent.places import places_of
from ragcore.agent.tools import Json, Result, Tool
from ragcore.agent.usage import use_of_the_day
from ragcore.documents import FILES, STATUSES
from ragcore.grounded.conversations import Conversations
from ragcore.grounded.way import Way

MOST_KEYS = 5000  # of a view: pairs of a folder and a class
MOST_FOLDERS = 20  # that are told of
OTHERS = "others"

FILES_COUNTED = "files-by-folder-and-class"
FILES_MAP = """function (doc) {
  if (doc.type === 'file' && !doc.trashed) { emit([doc.dir_id, doc.class || 'files']); }
}"""
STATUSES_COUNTED = "statuses-counted"
STATUSES_MAP = """function (doc) {
  if (doc.status === 'notsupported') { emit('refused'); } else if (doc.indexed) { emit('indexed'); }
}"""


def stats(way: Way, arguments: Json) -> Result:
    """Of all documents, or of the folder that the answer is made from. Raises NotFound, Retryable."""
    classes, folders = _documents(way)
    content = {
        "documents": classes.total(),
        "by class": dict(classes.most_common()),
        "by folder": _largest(folders),
        **_index(way, classes.total()),
        "conversations": Conversations(way.runtime, way.instance).count(),
        "today": use_of_the_day(way.runtime, way.instance),
    }
    told = ("documents", "indexed", "refused", "conversations")
    return Result(content, {name: content[name] for name in told if name in content})


def _documents(way: Way) -> tuple[Counter[str], Counter[str]]:
    """How many there are of each class, and in each folder."""
    counts = way.runtime.store.counts(way.instance, FILES, FILES_COUNTED, FILES_MAP, MOST_KEYS)
    folder = way.folder()
    places = places_of(way, {dir_id for (dir_id, _), _ in counts if isinstance(dir_id, str)}, folder)
    classes, folders = Counter[str](), Counter[str]()
    for (dir_id, class_), count in counts:
        if dir_id in places:
            classes[str(class_)] += count
            folders[_top(places[dir_id], folder.path if folder else "/")] += count
    return classes, folders


def _top(path: str, above: str) -> str:
    """The folder right below another that a path is in; that one itself for what lies in it."""
    below = path.removeprefix(above.rstrip("/")).strip("/")
    return f"{above.rstrip('/')}/{below.split('/')[0]}" if below else above


def _largest(folders: Counter[str]) -> dict[str, int]:
    largest = dict(folders.most_common(MOST_FOLDERS))
    left = folders.total() - sum(largest.values())
    return largest | ({OTHERS: left} if left else {})


def _index(way: Way, documents: int) -> Json:
    """No more than there are: a status outlives its file. Of a folder alone they are not counted."""
    if way.scope.workspace:
        return {}
    counts = dict(way.runtime.store.counts(way.instance, STATUSES, STATUSES_COUNTED, STATUSES_MAP, MOST_KEYS))
    return {name: min(counts.get(name, 0), documents) for name in ("indexed", "refused")}


STATS = Tool(
    "get_workspace_stats",
    "Counts the user's documents by class and by folder, how many of them can be searched (indexed) or were refused, "
    "the conversations, and what was used today.",
    stats,
)
