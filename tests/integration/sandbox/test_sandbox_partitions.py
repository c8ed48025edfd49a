from collections.abc import Callable
from typing import Any

import requests


def test_health_check_needs_no_key_and_the_rest_does(start: Callable[..., Any]) -> None:
    server = start(SANDBOX_API_KEY="secret")
    assert server.call("GET", "/health_check").status_code == 200
    refused = server.call("GET", "/partition/a/")
    assert refused.status_code == 401
    assert isinstance(refused.json()["detail"], str)
    headers = {"Authorization": "Bearer secret"}
    assert server.call("GET", "/partition/a/", headers=headers).status_code == 404
    assert server.call("GET", "/partition/a/", headers={"Authorization": "Bearer no"}).status_code == 401


def test_without_a_key_any_or_none_is_taken(client: Any) -> None:
    assert client.call("GET", "/partition/{p}/", headers={"Authorization": "Bearer x"}).status_code == 200
    assert client.call("GET", "/partition/{p}/").status_code == 200


def test_a_partition_is_made_once_and_goes_with_what_it_holds(client: Any) -> None:
    assert client.call("POST", "/partition/{p}").status_code == 409
    client.workspace("w")
    client.index("f", "some text", workspace_ids='["w"]')
    assert client.call("DELETE", "/partition/{p}").status_code == 204
    assert client.call("DELETE", "/partition/{p}").status_code == 404
    assert client.call("GET", "/partition/{p}/").status_code == 404
    assert client.call("GET", "/partition/{p}/workspaces").status_code == 404
    assert client.call("POST", "/partition/{p}").status_code == 201
    assert client.call("GET", "/partition/{p}/workspaces").json() == {"workspaces": []}
    assert client.get("f").status_code == 404
    client.index("f", "some text")


def test_the_listing_answers_with_and_without_its_slash(client: Any) -> None:
    client.index("a b?é", "one", "a.txt")
    client.index("b", "two", "b.txt")
    with_slash = client.call("GET", "/partition/{p}/").json()
    assert [(file["file_id"], file["filename"]) for file in with_slash["files"]] == [
        ("a b?é", "a.txt"),
        ("b", "b.txt"),
    ]
    assert with_slash["files"][0]["link"].endswith("/file/a%20b%3F%C3%A9")
    assert client.call("GET", "/partition/{p}").json() == with_slash
    assert len(client.call("GET", "/partition/{p}?limit=1").json()["files"]) == 1
    assert client.call("GET", "/partition/{p}/?limit=x").status_code == 422


def test_an_older_server_lists_links_alone(client: Any) -> None:
    client.index("b", "two")
    client.server.control("POST", "settings", {"legacy": True})
    assert [list(file) for file in client.call("GET", "/partition/{p}/").json()["files"]] == [["link"]]
    assert client.call("DELETE", "/indexer/partition/{p}/file/b").status_code == 200


def test_unknown_routes_and_methods_answer_in_fastapi_style(client: Any) -> None:
    assert client.call("GET", "/nothing").json() == {"detail": "Not Found"}
    refused: requests.Response = client.call("PUT", "/partition/{p}")
    assert (refused.status_code, refused.json()) == (405, {"detail": "Method Not Allowed"})
