import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.documents import ROOT_ID, Directory
from ragcore.indexing.scopes import Scopes

names = st.sampled_from(["a", "aa", "b", "a b", "é"])
paths = st.lists(names, max_size=4)


def directory(path: str, dir_id: str = "") -> Directory:
    return Directory(dir_id or path, path.rpartition("/")[2], path)


@given(paths, st.lists(paths, max_size=4, unique_by=tuple))
def test_a_file_is_in_the_workspaces_of_all_folders_that_contain_it(path: list[str], folders: list[list[str]]) -> None:
    scopes = Scopes(tuple(directory("/" + "/".join(folder)) for folder in folders))
    expected = {"/" + "/".join(folder) for folder in folders if path[: len(folder)] == folder}
    assert scopes.of(directory("/" + "/".join(path))) == expected


@pytest.mark.parametrize(
    ("path", "workspaces"),
    [
        ("/", {"io-cozy-files-root-dir"}),
        ("/Work", {"io-cozy-files-root-dir", "w"}),
        ("/Work/2025", {"io-cozy-files-root-dir", "w", "y"}),
        ("/Workshop", {"io-cozy-files-root-dir"}),
        ("/.cozy_trash", set()),
        ("/.cozy_trash/Work", set()),
        ("/.cozy_trashier", {"io-cozy-files-root-dir"}),
    ],
)
def test_the_scope_rule_by_example(path: str, workspaces: set[str]) -> None:
    scopes = Scopes((directory("/", ROOT_ID), directory("/Work", "w"), directory("/Work/2025", "y")))
    assert scopes.of(directory(path)) == workspaces


def test_the_workspaces_that_should_exist() -> None:
    root, work = directory("/", ROOT_ID), directory("/Work", "w")
    assert Scopes((root, work)).workspaces() == {"io-cozy-files-root-dir": root, "w": work}
    assert Scopes(()).workspaces() == {}
    assert Scopes(()).of(root) == frozenset()
