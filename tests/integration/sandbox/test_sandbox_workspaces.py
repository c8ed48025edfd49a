from typing import Any

import pytest

BASE = "/partition/{p}/workspaces"


def ids(client: Any) -> list[str]:
    return [workspace["workspace_id"] for workspace in client.call("GET", BASE).json()["workspaces"]]


def test_workspaces_are_made_once_and_have_a_pattern(client: Any) -> None:
    client.workspace("io-cozy-files_1")
    assert client.call("POST", BASE, json={"workspace_id": "io-cozy-files_1"}).status_code == 409
    for bad in ("io.cozy.files.root-dir", "", "a b", "a\n", None, 3):
        assert client.call("POST", BASE, json={"workspace_id": bad}).status_code == 422
    assert ids(client) == ["io-cozy-files_1"]
    assert client.call("GET", f"{BASE}/io-cozy-files_1").json()["display_name"] == "io-cozy-files_1"
    assert client.call("GET", f"{BASE}/none").status_code == 404
    assert client.call("DELETE", f"{BASE}/none").status_code == 404


def test_no_partition_no_workspaces(client: Any) -> None:
    client.partition = "no.example.org"
    assert client.call("GET", BASE).status_code == 404
    assert client.call("POST", BASE, json={"workspace_id": "w"}).status_code == 404


def test_ids_may_be_unique_over_the_server(client: Any, other: Any) -> None:
    name = client.partition.partition(".")[0]
    client.workspace(name)
    client.server.control("POST", "settings", {"global_workspace_ids": True})
    assert other.call("POST", BASE, json={"workspace_id": name}).status_code == 409
    assert other.call("GET", f"{BASE}/{name}").status_code == 404
    client.server.control("POST", "settings", {"global_workspace_ids": False})
    other.workspace(name)


def test_files_are_added_all_or_none(client: Any) -> None:
    client.workspace("w")
    client.index("a", "one")
    client.index("b", "two")
    assert client.call("POST", f"{BASE}/w/files", json={"file_ids": ["a", "none"]}).status_code == 404
    assert client.members("w") == []
    assert client.call("POST", f"{BASE}/w/files", json={"file_ids": ["a", "b"]}).status_code == 200
    assert client.call("POST", f"{BASE}/w/files", json={"file_ids": "a"}).status_code == 422
    assert client.members("w") == ["a", "b"]
    assert client.call("DELETE", f"{BASE}/w/files/a").status_code == 200
    assert client.call("DELETE", f"{BASE}/w/files/a").status_code == 404
    assert client.call("GET", "/partition/{p}/files/b/workspaces").json() == {
        "file_id": "b",
        "workspace_ids": ["w"],
    }
    assert client.call("GET", "/partition/{p}/files/none/workspaces").status_code == 404
    assert client.call("GET", f"{BASE}/none/files").status_code == 404


def fill(client: Any) -> None:
    """`a` in w alone, `b` in both, `c` put into w later."""
    client.workspace("w")
    client.workspace("v")
    client.index("a", "one", workspace_ids='["w"]')
    client.index("b", "two", workspace_ids='["w", "v"]')
    client.index("c", "three")
    client.call("POST", f"{BASE}/w/files", json={"file_ids": ["c"]})


def test_a_deleted_workspace_takes_the_files_that_are_in_no_other(client: Any) -> None:
    fill(client)
    answer = client.call("DELETE", f"{BASE}/w").json()
    assert answer == {
        "status": "deleted",
        "orphaned_files_deleted": 1,
        "orphaned_files_failed": [],
        "kept_files": 1,
    }
    assert [client.get(file_id).status_code for file_id in "abc"] == [404, 200, 200]
    assert client.members("v") == ["b"]


def test_a_deleted_workspace_can_keep_its_files(client: Any) -> None:
    fill(client)
    assert client.call("DELETE", f"{BASE}/w?keep_files=true").json()["kept_files"] == 2
    assert [client.get(file_id).status_code for file_id in "abc"] == [200, 200, 200]
    assert ids(client) == ["v"]


@pytest.mark.parametrize(("mode", "expected"), [("keep", ["w"]), ("honour", ["v"]), ("drop", [])])
def test_what_a_put_does_to_the_memberships(client: Any, mode: str, expected: list[str]) -> None:
    client.server.control("POST", "settings", {"put_workspaces": mode})
    client.workspace("w")
    client.workspace("v")
    client.index("f", "old", workspace_ids='["w"]')
    client.index("f", "new", method="PUT", workspace_ids='["v"]')
    found = client.call("GET", "/partition/{p}/files/f/workspaces").json()["workspace_ids"]
    assert found == expected
