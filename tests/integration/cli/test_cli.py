"""The `ragcore` command, as a person types it."""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy.local.stack import Stack
from ragcore.documents import ASSISTANTS
from ragcore.instances import Instance
from ragcore.permissions import VERBS, read_token
from ragcore.runtime import Runtime
from ragcore.watch.watcher import WATCHING
from tests.support.cli import Result, one_line, run
from tests.support.sandbox import Sandbox


def test_an_instance_from_its_beginning_to_its_end(ragcore: Callable[..., Result]) -> None:
    domain = f"i{uuid.uuid4().hex[:8]}.localhost"
    assert ragcore("instances", "add", domain, "--locale", "fr", "--org-id", "acme").returncode == 0
    assert "already" in one_line(ragcore("instances", "add", domain))
    assert domain in ragcore("instances", "ls").stdout.split()
    shown = json.loads(ragcore("instances", "show", domain, "--json").stdout)
    assert (shown["domain"], shown["locale"], shown["org_id"]) == (domain, "fr", "acme")
    assert not any("secret" in key for key in shown)
    assert ragcore("instances", "rm", domain).returncode == 0
    assert domain not in [i["domain"] for i in json.loads(ragcore("instances", "ls", "--json").stdout)]
    assert domain in one_line(ragcore("instances", "show", domain))


@pytest.mark.parametrize("domain", ["", "Alice.localhost", "a b", "a/b", "é.localhost", "a..b", "-", "a:b"])
def test_what_is_no_domain(ragcore: Callable[..., Result], domain: str) -> None:
    assert "is not a domain" in one_line(ragcore("instances", "add", domain))


def test_tokens(ragcore: Callable[..., Result], instance: Instance) -> None:
    cli = ragcore("instances", "token-cli", instance.domain, "io.cozy.files:GET", "io.cozy.jobs").stdout.strip()
    assert read_token(instance, cli).allow("GET", "io.cozy.files")
    assert not read_token(instance, cli).allow("POST", "io.cozy.files")
    oauth = ragcore("instances", "token-oauth", instance.domain, "page", "io.cozy.files").stdout.strip()
    later = lambda: time.time() + 6 * 86400  # noqa: E731
    assert read_token(instance, oauth, clock=later).allow("POST", "io.cozy.files")


def test_a_link_signs_in_to_the_page(ragcore: Callable[..., Result], runtime: Runtime, instance: Instance) -> None:
    link = ragcore("instances", "link", instance.domain).stdout.strip()
    page, _, token = link.partition("#token=")
    assert page == f"{runtime.config.public_url(instance.domain)}/"
    later = lambda: time.time() + 6 * 86400  # noqa: E731
    rights = read_token(instance, token, clock=later)
    for doctype in ("io.cozy.ai.chat.conversations", "io.cozy.files", "io.cozy.ai.chat.assistants"):
        assert all(rights.allow(verb, doctype) for verb in VERBS)
    assert rights.allow("GET", "io.cozy.ai.chat.events")
    assert rights.allow("GET", "io.cozy.ai.chat.rag")
    assert rights.allow("POST", "io.cozy.jobs")
    for verb, doctype in (("PUT", "io.cozy.ai.chat.rag"), ("DELETE", "io.cozy.jobs"), ("GET", "io.cozy.accounts")):
        assert not rights.allow(verb, doctype)
    as_json = json.loads(ragcore("instances", "link", instance.domain, "--json").stdout)
    assert as_json["url"].startswith(f"{page}#token=")
    assert "no instance" in one_line(ragcore("instances", "link", "unknown.localhost"))


def test_feature_flags(ragcore: Callable[..., Result], instance: Instance) -> None:
    flags = ("features", "flags", "--domain", instance.domain)
    assert json.loads(ragcore(*flags, '{"rag.server": "beta", "x": true}').stdout) == {"rag.server": "beta", "x": True}
    assert json.loads(ragcore(*flags, '{"rag.server": null}').stdout) == {"x": True}
    assert json.loads(ragcore(*flags).stdout) == {"x": True}
    assert "JSON" in one_line(ragcore(*flags, "nonsense"))


def test_import_assistant_ask(
    ragcore: Callable[..., Result], instance: Instance, tmp_path: Path, runtime: Runtime, until: Callable
) -> None:
    (tmp_path / "Recipes").mkdir()
    (tmp_path / "Recipes" / "pancakes.md").write_text("# Pancakes\n\nThe pancakes need 250 grams of flour.")
    domain = ("--domain", instance.domain)
    first = ragcore("files", "import", *domain, str(tmp_path / "Recipes"), "--json")
    assert json.loads(first.stdout)["added"] == 1
    again = ragcore("files", "import", *domain, str(tmp_path / "Recipes"))
    assert "0 added" in again.stdout
    assert "1 unchanged" in again.stdout
    made = ragcore("assistants", "add", *domain, "--name", "Cook", "--dir", "/Recipes", "--json")
    assistant = json.loads(made.stdout)["id"]
    assert runtime.store.get(instance, ASSISTANTS, assistant)["name"] == "Cook"
    openrag = runtime.openrag(instance)
    until(lambda: openrag.workspaces() and any(any(openrag.files(name)) for name in openrag.workspaces() or ()))

    def answer() -> dict:
        question = "How many grams of flour do the pancakes need?"
        return json.loads(ragcore("ask", *domain, "--assistant", assistant, question, "--json").stdout)

    found = until(lambda: (a := answer())["sources"] and a)
    assert "250 grams" in found["answer"]
    assert found["sources"][0]["filename"] == "pancakes.md"
    streamed = ragcore("ask", *domain, "--conversation", found["conversation"], "And the flour of pancakes?")
    assert "Sources:\n  - pancakes.md" in streamed.stdout
    assert found["conversation"] in streamed.stderr


def test_an_error_event_is_one_line(ragcore: Callable[..., Result], instance: Instance, sandbox: Sandbox) -> None:
    sandbox.fault(method="POST", route="/v1/chat/completions", status=500, times=1)
    result = ragcore("ask", "--domain", instance.domain, "Hello")
    assert result.returncode == 1
    assert result.stderr.strip().endswith("Please try again later.")


@pytest.mark.parametrize(
    "words",
    [
        ("assistants", "add", "--name", "A", "--dir", "/Nowhere"),
        ("ask", "--conversation", "_odd", "Hello"),
        ("ask", " "),
    ],
)
def test_a_wrong_word_is_one_line(ragcore: Callable[..., Result], instance: Instance, words: tuple[str, ...]) -> None:
    one_line(ragcore(words[0], *words[1:], "--domain", instance.domain))


@pytest.fixture
def _watched(runtime: Runtime) -> Iterator[None]:
    """As if a watcher had the lead."""
    runtime.redis.set(WATCHING, "a test", px=60_000)
    yield
    runtime.redis.delete(WATCHING)


@pytest.mark.usefixtures("_watched")
def test_check_tells_each_part(ragcore: Callable[..., Result], stack: Stack) -> None:
    result = ragcore("check")
    assert result.returncode == 0, result.stdout
    assert result.stdout.count("\n") == 10
    assert "queue rag-query: 1 worker(s)" in result.stdout
    assert "queue rag-schedule: 1 worker(s)" in result.stdout
    assert "ok     beat: one is active" in result.stdout


def test_check_tells_that_nobody_watches(ragcore: Callable[..., Result]) -> None:
    result = ragcore("check")
    assert result.returncode == 1
    assert "FAILED watcher: none follows the databases" in result.stdout


@pytest.mark.usefixtures("_watched")
def test_check_names_what_is_down(ragcore: Callable[..., Result]) -> None:
    result = ragcore("check", RAGCORE_COUCHDB_URL="http://admin:hidden@127.0.0.1:1/")
    assert result.returncode == 1
    (failed,) = [line for line in result.stdout.splitlines() if line.startswith("FAILED")]
    assert "couchdb http://127.0.0.1:1/" in failed
    assert "hidden" not in result.stdout


@pytest.mark.parametrize(
    "words", [("serve",), ("worker", "index"), ("worker", "query"), ("beat",), ("instances", "ls")]
)
def test_a_mistake_in_the_configuration_is_one_line(words: tuple[str, ...]) -> None:
    assert "RAGCORE_PORT (port)" in one_line(run(*words, RAGCORE_PORT="many"))


@pytest.mark.parametrize("words", [("serve",), ("worker", "index"), ("worker", "query")])
@pytest.mark.parametrize(
    ("variable", "url", "shown"),
    [
        ("RAGCORE_REDIS_URL", "redis://:hidden@127.0.0.1:1/0", "redis redis://127.0.0.1:1/0"),
        ("RAGCORE_COUCHDB_URL", "http://admin:hidden@127.0.0.1:1/", "couchdb http://127.0.0.1:1/"),
    ],
)
def test_a_server_that_is_down_at_the_start_is_one_line(
    ragcore: Callable[..., Result], words: tuple[str, ...], variable: str, url: str, shown: str
) -> None:
    line = one_line(ragcore(*words, **{variable: url}))
    assert shown in line
    assert "hidden" not in line


def test_the_operators_api_has_a_port_of_its_own() -> None:
    assert "admin.port" in one_line(run("serve", RAGCORE_PORT="18080", RAGCORE_ADMIN_PORT="18080"))
