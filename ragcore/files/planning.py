"""What makes a folder of an instance equal to a local one: a plan, from the two listings.

All paths are relative to the two folders (`Home/a.txt`). What vanished here and came there, with the same content,
was moved: it stays the same document.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field

from ragcore.files.local import LocalFolder
from ragcore.files.tree import Tree
from ragcore.store import Document

Md5Of = Callable[[str], str | None]  # of a local file, None when it cannot be read
Signature = frozenset[tuple[str, int, str]]  # relative path, size and time of each file in a directory


@dataclass(frozen=True, slots=True)
class Known:
    """A file or a directory of the instance, at the path where it stood when it was listed."""

    id: str
    path: str
    is_directory: bool = False
    size: int = 0
    updated_at: str = ""
    md5sum: str = ""

    @classmethod
    def from_document(cls, path: str, doc: Document) -> "Known":
        if doc["type"] == "directory":
            return cls(doc["_id"], path, is_directory=True)
        size, updated_at = int(doc.get("size") or 0), doc.get("updated_at") or ""
        return cls(doc["_id"], path, False, size, updated_at, doc.get("md5sum") or "")


@dataclass
class KnownFolder:
    directories: dict[str, Known] = field(default_factory=dict)
    files: dict[str, Known] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to bring to a path; without `known` it is new there."""

    path: str
    known: Known | None = None


@dataclass(frozen=True, slots=True)
class Vanished:
    """Goes to the trash; `files` counts those that go with it."""

    known: Known
    files: int


@dataclass
class Plan:
    """In the order in which it is done.

    `in_the_way` are of the other kind than what comes to their paths: they are given another name first, since what
    is in them may be moved out, or they themselves into what comes.
    """

    in_the_way: list[Known] = field(default_factory=list)
    directories: list[Step] = field(default_factory=list)  # a parent before its children
    moves: list[Step] = field(default_factory=list)
    trash: list[Vanished] = field(default_factory=list)
    contents: list[Step] = field(default_factory=list)
    unchanged: int = 0
    moved_along: Counter[str] = field(default_factory=Counter)  # files in directories that are moved, by their paths
    known_directories: dict[str, Known] = field(default_factory=dict)  # by the paths that they are to have

    @property
    def steps(self) -> int:
        steps = len(self.directories) + len(self.moves) + len(self.contents)
        return len(self.in_the_way) + steps + len(self.trash)


def read_known(tree: Tree, dir_id: str) -> KnownFolder:
    """The listing of a folder of the instance, without what every instance has (the trash, above all)."""
    found, waiting = KnownFolder(), [("", dir_id)]
    while waiting:
        prefix, dir_id = waiting.pop()
        for doc in (doc for page in tree.children(dir_id) for doc in page):
            if doc["_id"].startswith("io.cozy.files."):
                continue
            path = f"{prefix}{doc['name']}"
            if doc["type"] == "directory":
                found.directories[path] = Known.from_document(path, doc)
                waiting.append((f"{path}/", doc["_id"]))
            else:
                found.files[path] = Known.from_document(path, doc)
    return found


def make_plan(local: LocalFolder, known: KnownFolder, md5_of: Md5Of) -> Plan:
    plan = Plan()
    directory_moves = _moved_directories(local, known)
    known = _as_if_moved(known, directory_moves)
    plan.known_directories = known.directories
    plan.in_the_way = [k for p, k in known.directories.items() if p in local.files]
    plan.in_the_way += [k for p, k in known.files.items() if p in local.directories]
    new = sorted((local.directories - known.directories.keys()) | directory_moves.keys())
    plan.directories = [Step(path, directory_moves.get(path)) for path in new]
    vanished = {p: k for p, k in known.files.items() if p not in local.files and not _is_unknown(p, local)}
    moves = _moved_files(local, known, vanished, md5_of)
    plan.moves = [Step(path, moves[path]) for path in sorted(moves)]
    _compare(plan, local, known, moves, directory_moves.keys())
    taken = {moved.id for moved in moves.values()}
    plan.trash = _to_trash(local, known, {p: k for p, k in vanished.items() if k.id not in taken})
    return plan


def _compare(
    plan: Plan, local: LocalFolder, known: KnownFolder, moves: dict[str, Known], moved_directories: Set[str]
) -> None:
    for path in sorted(local.files.keys() - moves.keys()):
        file, before = local.files[path], known.files.get(path)
        if before is None or (before.size, before.updated_at) != (file.size, file.updated_at):
            plan.contents.append(Step(path, before))
        elif before.path == path:
            plan.unchanged += 1
        else:
            plan.moved_along.update(_ancestors(path) & moved_directories)


def _moved_directories(local: LocalFolder, known: KnownFolder) -> dict[str, Known]:
    """New directories in which the very files of a vanished one stand: same relative paths, sizes and times."""
    new = local.directories - known.directories.keys()
    gone = {path for path in known.directories.keys() - local.directories if not _is_unknown(path, local)}
    if not new or not gone:
        return {}
    by_signature = defaultdict(list)
    for path, signature in _signatures(gone, ((p, k.size, k.updated_at) for p, k in known.files.items())).items():
        by_signature[signature].append(path)
    wanted = _signatures(new, ((p, f.size, f.updated_at) for p, f in local.files.items()))
    moves: dict[str, Known] = {}
    for path in sorted(wanted.keys() - _above(local.unknown)):
        if moves.keys() & _ancestors(path):
            continue
        used = {move.path for move in moves.values()}
        free = [p for p in by_signature[wanted[path]] if not used & {p, *_ancestors(p)} and p not in _above(used)]
        if free:
            same_name = [p for p in free if _name(p) == _name(path)]
            moves[path] = known.directories[(same_name or free)[0]]
    return moves


def _signatures(directories: set[str], files: Iterable[tuple[str, int, str]]) -> dict[str, Signature]:
    """For each directory that has files, at whatever depth."""
    found: dict[str, set[tuple[str, int, str]]] = defaultdict(set)
    for path, size, updated_at in files:
        for directory in _ancestors(path) & directories:
            found[directory].add((path[len(directory) :], size, updated_at))
    return {directory: frozenset(files) for directory, files in found.items()}


def _as_if_moved(known: KnownFolder, moves: dict[str, Known]) -> KnownFolder:
    """The listing with what is in the moved directories where it will stand."""
    target = {move.path: path for path, move in moves.items()}

    def after(path: str) -> str:
        source = next(iter({path, *_ancestors(path)} & target.keys()), None)
        return path if source is None else target[source] + path[len(source) :]

    if not moves:
        return known
    directories = {after(path): directory for path, directory in known.directories.items()}
    return KnownFolder(directories, {after(path): file for path, file in known.files.items()})


def _moved_files(local: LocalFolder, known: KnownFolder, vanished: dict[str, Known], md5_of: Md5Of) -> dict[str, Known]:
    """New files whose content a vanished one has, rather one of the same name. Only those whose size fits are read."""
    candidates = defaultdict(list)
    for _, file in sorted(vanished.items()):
        candidates[file.size, file.md5sum].append(file)
    sizes = {size for size, _ in candidates}
    new = sorted(path for path in local.files.keys() - known.files.keys() if local.files[path].size in sizes)
    md5s = {path: md5_of(path) for path in new}
    moves: dict[str, Known] = {}
    for same_name in (True, False):
        for path in new:
            left = candidates.get((local.files[path].size, md5s[path] or ""), [])
            fitting = [file for file in left if not same_name or _name(file.path) == _name(path)]
            if path not in moves and md5s[path] and fitting:
                moves[path] = fitting[0]
                left.remove(fitting[0])
    return moves


def _to_trash(local: LocalFolder, known: KnownFolder, left: dict[str, Known]) -> list[Vanished]:
    """The directories that vanished, not those inside of them, then the files outside of them."""
    gone = {path for path in known.directories.keys() - local.directories if not _is_unknown(path, local)}
    topmost = {path for path in gone if not _ancestors(path) & gone}
    inside: dict[str, int] = defaultdict(int)
    alone = []
    for path in sorted(left):
        if above := _ancestors(path) & topmost:
            inside[above.pop()] += 1
        else:
            alone.append(Vanished(left[path], 1))
    return [Vanished(known.directories[path], inside[path]) for path in sorted(topmost)] + alone


def _is_unknown(path: str, local: LocalFolder) -> bool:
    return bool(local.unknown) and not local.unknown.isdisjoint({path, *_ancestors(path)})


def _ancestors(path: str) -> set[str]:
    """`a/b/c`: `a` and `a/b`."""
    parts = path.split("/")
    return {"/".join(parts[:end]) for end in range(1, len(parts))}


def _above(paths: Iterable[str]) -> set[str]:
    return {above for path in paths for above in _ancestors(path)}


def _name(path: str) -> str:
    return path.rpartition("/")[2]
