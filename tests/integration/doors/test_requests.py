"""We speak with our own servers alone, whatever URL anybody writes anywhere."""

import http.client
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from deploy.cli import client as cli_client
from deploy.local.stack import Stack
from ragcore import loopback
from ragcore.aborting import Abortable
from ragcore.config import RagServer
from ragcore.documents import ACCOUNTS, ASSISTANTS, CONVERSATIONS, FILES, ROOT_ID
from ragcore.errors import RagcoreError
from ragcore.indexing.status import callback_token
from ragcore.instances import Instance
from ragcore.openrag import OpenRag, Upload
from ragcore.runtime import Runtime
from ragcore.store import Store
from tests.integration.doors.routes import JOB
from tests.support.api import Client
from tests.support.cli import run
from tests.support.files import Drive
from tests.support.listening import Listener, redirecting
from tests.support.sandbox import Sandbox

ONE_INSTANCE = True

COMPLETIONS = "/ai/v1/chat/completions"
MESSAGES = [{"role": "user", "content": "Hello"}]


@pytest.fixture
def listener() -> Iterator[Listener]:
    """Nobody calls it."""
    made = Listener()
    yield made
    assert made.connections() == 0
    made.close()


def test_who_calls_is_counted(listener: Listener) -> None:
    for _ in range(2):
        with pytest.raises(requests.RequestException):
            requests.get(listener.url, timeout=0.1)
    assert listener.connections() == 2


@pytest.fixture
def everything(runtime: Runtime, instance: Instance) -> Client:
    return Client(runtime.config.public_url(instance.domain), instance, "io.cozy.*")


def test_no_url_of_a_document_is_fetched(
    everything: Client, runtime: Runtime, instance: Instance, sandbox: Sandbox, listener: Listener, until: Callable
) -> None:
    """An account, an assistant, a conversation, files, a question, a callback and the sources of an answer name it."""
    url = listener.url
    urls = dict.fromkeys(("url", "icon", "avatar", "fileUrl", "chunkUrl", "callback_url", "href", "created_on"), url)
    for doctype, doc in (
        (ACCOUNTS, {"auth": {"login": "m", **urls}, "data": {"baseUrl": url}, **urls}),
        (
            CONVERSATIONS,
            {
                "messages": [{"id": "m", "role": "user", "content": url, "sources": [urls], **urls}],
                "relationships": {"assistant": {"data": {"_id": "outside", "_type": ASSISTANTS}}},
                **urls,
            },
        ),
    ):
        assert everything.request("PUT", f"/data/{doctype}/outside", json=doc).status_code == 200
    drive = Drive(runtime, instance)
    folder = drive.folder("/Links")
    file = drive.file("/Links/shortcut.txt", f"[InternetShortcut]\nURL={url}/shortcut\n")
    page = f'<img src="{url}/a.png"><link rel="stylesheet" href="{url}/a.css"><a href="{url}">A link</a>'
    drive.file("/Links/page.html", f"<html><body>{page}</body></html>")
    runtime.store.save(instance, FILES, {**runtime.store.get(instance, FILES, file["_id"]), "metadata": urls, **urls})
    provider = {"data": {"_id": "outside", "_type": ACCOUNTS, "metadata": {"providerId": "other"}}}
    assistant = {"name": "A", "prompt": url, **urls}
    assistant["relationships"] = {"provider": provider, "knowledgeBase": {"data": [{"_id": folder.id, "_type": FILES}]}}
    assert everything.request("PUT", f"/data/{ASSISTANTS}/outside", json=assistant).status_code == 200
    assert everything.request("POST", "/jobs/queue/rag-index", json=JOB).status_code == 202
    openrag = runtime.openrag(instance)
    until(lambda: folder.id in (openrag.workspaces() or ()) and len(set(openrag.files(folder.id))) == 2)

    links = {"file_url": url, "chunk_url": url}
    chunk = {"file_id": file["_id"], "partition": instance.domain, **links}
    web = {"source_type": "web", "url": url, "title": "A", "snippet": url}
    sandbox.script({"content": url}, sources=[{"source_type": "document", "chunk": chunk, **links}, web])
    _, question = everything.ask(url, "outside", assistantID="outside", instructions=url, websearch=True, **urls)
    told = everything.events(question)
    assert url in json.dumps([event["content"] for event in told if event["object"] == "sources"])
    assert sandbox.completions()[-1]["metadata"]["llm_override"]["base_url"] == url
    body = {
        "partition": instance.domain,
        "file_id": file["_id"],
        "status": "success",
        "metadata": {"doc_rev": file["_rev"], **urls},
        **urls,
    }
    headers = {"Authorization": f"Bearer {callback_token(instance, file['_id'])}"}
    assert everything.request("POST", "/ai/index/status", json=body, headers=headers).status_code == 204
    for path in ("/", f"/data/{CONVERSATIONS}/outside", f"/data/{ACCOUNTS}/outside", f"/data/{ASSISTANTS}/_normal_docs",
                 f"/files/{file['_id']}", f"/files/download/{file['_id']}",
                 f"/ai/chat/conversations/outside/events?message={question}"):  # fmt: skip
        assert everything.request("GET", path).status_code == 200, path


# where the proxied routes lead


@pytest.mark.parametrize(
    "target",
    [
        "http://{host}" + COMPLETIONS,
        "//{host}" + COMPLETIONS,
        "\\\\{host}" + COMPLETIONS,
        COMPLETIONS + "@{host}",
        "@{host}" + COMPLETIONS,
        "/ai/v1/http://{host}/chat/completions",
        "/ai/v1//{host}/chat/completions",
        "/ai/v1/..%2f..%2f@{host}/chat/completions",
        "/ai/v1/\\\\{host}\\chat/completions",
        COMPLETIONS + "?url=http://{host}&base_url=http://{host}",
        COMPLETIONS + "#@{host}",
    ],
)
def test_no_path_leads_elsewhere(client: Client, sandbox: Sandbox, listener: Listener, target: str) -> None:
    """What is passed on goes to openRAG's own route; all else is an error."""
    url, host = loopback.resolve(client.base_url)
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
    connection.putrequest("POST", target.replace("{host}", listener.host), skip_host=True)
    body = json.dumps({"messages": MESSAGES}).encode()
    elsewhere = dict.fromkeys(("X-Forwarded-Host", "X-Original-URL", "X-Rewrite-URL", "Forwarded"), listener.host)
    authorized = {"Host": host, "Authorization": f"Bearer {client.token}", "Content-Length": str(len(body))}
    for name, value in (authorized | elsewhere).items():
        connection.putheader(name, value)
    connection.endheaders(body)
    status = connection.getresponse().status
    connection.close()
    passed_on = [call["path"] for call in sandbox.calls("completions")]
    assert (status, passed_on) == (200, ["/v1/chat/completions"]) or (400 <= status < 500 and not passed_on)


@pytest.mark.parametrize("route", [COMPLETIONS, "/ai/v1/tools/execute"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirection_is_not_passed_on(
    client: Client, sandbox: Sandbox, listener: Listener, route: str, status: int
) -> None:
    sandbox.fault(route="/v1/", status=status, headers={"Location": f"{listener.url}/v1"}, times=1)
    response = client.request("POST", route, json={"messages": MESSAGES}, allow_redirects=False)
    assert response.status_code == 502
    assert listener.host not in f"{response.headers} {response.text}"


@pytest.mark.parametrize("base_url", ["file:///etc/passwd", "gopher://x", "//x", "http://", "http://a b", 3])
def test_the_llm_that_a_client_names_is_of_the_web(client: Client, sandbox: Sandbox, base_url: Any) -> None:
    body = {"messages": MESSAGES, "metadata": {"llm_override": {"base_url": base_url}}}
    response = client.request("POST", COMPLETIONS, json=body)
    assert response.status_code == 400
    assert response.json()["errors"][0]["source"] == {"pointer": "/metadata/llm_override/base_url"}
    assert sandbox.calls("/v1/") == []


# what holds a key is sent to no other server

LOCATIONS = (
    "http://{host}/x",
    "//{host}/x",
    "///{host}/x",
    "https://{host}/x",
    "http://{ours}@{host}/x",
    "http://{ours}\\@{host}/x",
    "http://{host}\\@{ours}/x",
    "http://{host}#@{ours}/x",
    "http:\\\\{host}/x",
    "\\\\{host}\\x",
    "http://{host}:x/",
    "ftp://{host}/x",
)


def upload(openrag: OpenRag) -> None:
    openrag.create_file(Upload("f", "a.txt", io.BytesIO(b"A"), "text/plain", {}, "http://127.0.0.1:1/", "t"))


def complete(openrag: OpenRag) -> None:
    with openrag.chat({"messages": MESSAGES}, 5, 5, 5, Abortable()) as chunks:
        list(chunks)


CALLS: dict[str, Callable[[OpenRag], Any]] = {
    "GET": lambda openrag: openrag.workspaces(),
    "GET, streamed": lambda openrag: list(openrag.files()),
    "POST": lambda openrag: openrag.create_partition(),
    "POST of a file": upload,
    "PATCH": lambda openrag: openrag.update_metadata("f", {}),
    "DELETE": lambda openrag: openrag.delete_file("f"),
    "chat": complete,
    "passed on": lambda openrag: openrag.pass_on("v1/x", b"{}", {}),
}


def redirected(calls: Callable[[str], Any], listener: Listener, status: int, location: str) -> None:
    """The call fails, and soon: nobody waits for the listener."""
    with redirecting(status, location.replace("{host}", listener.host)) as url, pytest.raises(RagcoreError):
        calls(url)
    assert listener.connections() == 0


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_the_key_of_openrag_is_sent_to_no_other_host(call: str, listener: Listener, status: int) -> None:
    def ask(url: str) -> None:
        server = RagServer.model_validate({"url": url, "api_key": "the-key-of-openrag"})
        CALLS[call](OpenRag(loopback.session(), server, "alice.localhost"))

    redirected(ask, listener, status, LOCATIONS[0])


@pytest.mark.parametrize("location", LOCATIONS)
def test_no_spelling_of_another_host_is_followed(listener: Listener, location: str) -> None:
    def ask(url: str) -> None:
        server = RagServer.model_validate({"url": url, "api_key": "the-key-of-openrag"})
        OpenRag(loopback.session(), server, "alice.localhost").workspaces()

    redirected(ask, listener, 307, location)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_what_the_database_is_sent_stays_with_it(listener: Listener, status: int, instance: Instance) -> None:
    def store(url: str) -> Store:
        return Store(url.replace("//", "//admin:password@"), lambda domain, event: None)

    redirected(lambda url: store(url).get(instance, FILES, "f"), listener, status, LOCATIONS[0])
    redirected(lambda url: store(url).save(instance, FILES, {"_id": "f"}), listener, status, LOCATIONS[0])


@pytest.mark.parametrize("status", [302, 307])
def test_the_token_of_a_command_stays_with_the_api(listener: Listener, status: int) -> None:
    redirected(lambda url: cli_client.post_question(url, "t", {"q": "Hello"}), listener, status, LOCATIONS[0])
    redirected(lambda url: list(cli_client.events(url, "t", "q")), listener, status, "ws://{host}/realtime/")


def test_neither_proxies_nor_netrc_of_the_environment_are_used(
    stack: Stack, runtime: Runtime, instance: Instance, sandbox: Sandbox, listener: Listener, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    netrc = tmp_path / "netrc"
    netrc.write_text("default login somebody password else\n")
    netrc.chmod(0o600)
    names = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
    environment = dict.fromkeys(names, listener.url) | {"NO_PROXY": "", "no_proxy": "", "NETRC": str(netrc)}
    sandbox.script({"content": "Hello."})
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    ours = Runtime(runtime.config)
    ours.openrag(instance).create_partition()  # with the right key, or it would be refused
    assert ours.openrag(instance).workspaces() is not None
    assert ours.store.get(instance, FILES, ROOT_ID)
    asked = run("ask", "--domain", instance.domain, "Hello", RAGCORE_CONFIG=str(stack.config_path), **environment)
    monkeypatch.undo()
    assert (asked.returncode, asked.stdout.strip()) == (0, "Hello."), asked.stderr


def test_a_redirection_within_the_server_is_followed(runtime: Runtime, instance: Instance, sandbox: Sandbox) -> None:
    """FastAPI's, to a path with a slash or without."""
    runtime.openrag(instance).create_partition()
    location = f"/partition/{instance.domain}/workspaces?again=1"
    for there in (location, runtime.config.rag["default"].url + location):
        sandbox.fault(route="/workspaces", status=307, headers={"Location": there}, times=1)
        assert runtime.openrag(instance).workspaces() is not None
