"""The plan of an import, carried out on a model of a folder."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.files.local import LocalFile, LocalFolder
from ragcore.files.planning import Known, KnownFolder, Plan, make_plan

Tree = dict[str, "Tree | tuple[str, int]"]  # a directory; a file is its content and its time
names = st.sampled_from(["a", "b", "A", "a b", "é"])
# files of the same size and time have the same content: an import does not look further
file = st.sampled_from([("", 0), ("", 1), ("x", 0), ("x", 1), ("y", 2), ("y", 3), ("zz", 0), ("zz", 1)])
trees = st.recursive(
    st.dictionaries(names, file, max_size=3),
    lambda below: st.dictionaries(names, st.one_of(file, below), max_size=4),
    max_leaves=12,
)


def flat(tree: Tree, prefix: str = "") -> dict[str, tuple[str, int] | None]:
    """By path: a file's content and time, None for a directory."""
    found: dict[str, tuple[str, int] | None] = {}
    for name, node in tree.items():
        if isinstance(node, dict):
            found |= {prefix + name: None} | flat(node, f"{prefix}{name}/")
        else:
            found[prefix + name] = node
    return found


def local_of(tree: Tree) -> LocalFolder:
    nodes = flat(tree)
    files = {path: LocalFile(len(node[0]), str(node[1])) for path, node in nodes.items() if node}
    return LocalFolder("", {path for path, node in nodes.items() if node is None}, files)


def known_of(tree: Tree) -> KnownFolder:
    nodes = flat(tree)
    directories = {path: Known(f"id of {path}", path, True) for path, node in nodes.items() if node is None}
    files = {p: Known(f"id of {p}", p, False, len(n[0]), str(n[1]), md5(n[0])) for p, n in nodes.items() if n}
    return KnownFolder(directories, files)


def md5(content: str) -> str:
    return f"md5 of {content}"


def plan_of(before: Tree, after: Tree) -> Plan:
    contents = flat(after)
    return make_plan(local_of(after), known_of(before), lambda path: md5((contents[path] or ("", 0))[0]))


@dataclass
class Model:
    """What stands at each path: the id of its document, and its content and time (None for a directory)."""

    nodes: dict[str, tuple[str, tuple[str, int] | None]]
    trashed: set[str]

    def path_of(self, known: Known) -> str:
        (path,) = [path for path, (doc_id, _) in self.nodes.items() if doc_id == known.id]
        return path

    def put(self, path: str, node: tuple[str, tuple[str, int] | None]) -> None:
        parent = path.rpartition("/")[0]
        assert path not in self.nodes
        assert not parent or self.nodes[parent][1] is None
        self.nodes[path] = node

    def take(self, known: Known) -> dict[str, tuple[str, tuple[str, int] | None]]:
        path = self.path_of(known)
        below = [p for p in self.nodes if p == path or p.startswith(f"{path}/")]
        return {p[len(path) :]: self.nodes.pop(p) for p in sorted(below)}

    def move(self, known: Known, to: str) -> None:
        for rest, node in self.take(known).items():
            self.put(to + rest, node)

    def apply(self, plan: Plan, after: dict[str, tuple[str, int] | None]) -> None:
        for number, known in enumerate(plan.in_the_way):
            self.move(known, "/".join([*known.path.split("/")[:-1], f".aside {number}"]))
        for step in plan.directories:
            if step.known:
                self.move(step.known, step.path)
            else:
                self.put(step.path, (f"new {step.path}", None))
        for step in plan.moves:
            assert step.known
            self.move(step.known, step.path)
            doc_id, node = self.nodes[step.path]
            assert node
            self.nodes[step.path] = (doc_id, (node[0], (after[step.path] or node)[1]))
        for vanished in plan.trash:
            taken = self.take(vanished.known)
            assert vanished.files == sum(node is not None for _, node in taken.values())
            self.trashed |= {doc_id for doc_id, _ in taken.values()}
        for step in plan.contents:
            if step.known:
                assert self.path_of(step.known) == step.path
                del self.nodes[step.path]
            self.put(step.path, (step.known.id if step.known else f"new {step.path}", after[step.path]))


@given(trees, trees)
def test_it_makes_the_folder_equal(before: Tree, after: Tree) -> None:
    model = Model({path: (f"id of {path}", node) for path, node in flat(before).items()}, set())
    plan, wanted = plan_of(before, after), flat(after)
    model.apply(plan, wanted)
    assert {path: node for path, (_, node) in model.nodes.items()} == wanted
    done = plan.unchanged + plan.moved_along.total() + len(plan.moves) + len(plan.contents)
    assert done == len(local_of(after).files)
    new = [step.path for step in plan.contents if not step.known]
    files = {node[0] for doc_id, node in ((f"id of {p}", n) for p, n in flat(before).items()) if node
             and doc_id in model.trashed}  # fmt: skip
    assert not files & {(wanted[path] or ("", 0))[0] for path in new}, "what was trashed and added was moved"


@given(trees)
def test_nothing_is_to_do_for_equal_folders(tree: Tree) -> None:
    plan = plan_of(tree, tree)
    assert plan.steps == 0
    assert plan.unchanged == len(local_of(tree).files)


@given(trees, trees)
def test_what_cannot_be_read_is_left_as_it_was(before: Tree, after: Tree) -> None:
    local = local_of(after | {"locked": {}})
    local.unknown = {"locked"}
    known = known_of(before | {"locked": {"in": {"x": ("x", 0)}, "y": ("y", 0)}})
    plan = make_plan(local, known, lambda path: None)
    touched = [step.known for step in plan.moves + plan.directories + plan.contents if step.known]
    touched += [vanished.known for vanished in plan.trash] + plan.in_the_way
    assert not [known.path for known in touched if known.path.startswith("locked")]


def test_a_renamed_directory_is_one_step() -> None:
    inside: Tree = {"one": ("x", 0), "two": {"three": ("zz", 1)}}
    plan = plan_of({"old": inside, "same": {"one": ("x", 0)}}, {"new": inside, "same": {"one": ("x", 0)}})
    ((step, known),) = [(step.path, step.known) for step in plan.directories]
    assert (step, known and known.path) == ("new", "old")
    assert (plan.steps, plan.moved_along["new"], plan.unchanged) == (1, 2, 1)


@pytest.mark.parametrize("vanished", ["zzz", "aaa"])
def test_a_file_of_the_same_name_is_preferred(vanished: str) -> None:
    before: Tree = {vanished: ("x", 0), "there": {"name": ("x", 0)}}
    plan = plan_of(before, {"here": {"name": ("x", 1)}})
    (step,) = plan.moves
    assert (step.path, step.known and step.known.path) == ("here/name", "there/name")


def test_a_file_moves_into_a_directory_that_takes_its_name() -> None:
    plan = plan_of({"notes": ("x", 0)}, {"notes": {"notes": ("x", 0)}})
    assert [known.path for known in plan.in_the_way] == ["notes"]
    assert [step.path for step in plan.moves] == ["notes/notes"]
    assert plan.contents == []


def test_only_files_whose_size_fits_are_read() -> None:
    read: list[str] = []
    known = known_of({"gone": ("x", 0)})
    make_plan(local_of({"a": ("y", 0), "b": ("zz", 0)}), known, lambda path: read.append(path))
    assert read == ["a"]
