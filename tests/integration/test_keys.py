"""API keys: as the store keeps them, and as the API takes them."""

import base64
import json

import pytest
from flask.testing import FlaskClient

from api.app import create_app
from ragcore.config import Limits
from ragcore.documents import ASSISTANTS, CONVERSATIONS, FILES
from ragcore.errors import Invalid, NotFound
from ragcore.instances import Instance
from ragcore.keys import DOCTYPE, Keys
from ragcore.permissions import InvalidToken
from ragcore.runtime import Runtime
from ragcore.store import GLOBAL
from tests.support.api import Client
from tests.support.files import new_instance
from tests.support.queue import Recorded


@pytest.fixture
def keys(runtime: Runtime, instance: Instance) -> Keys:
    return Keys(runtime.store, instance)


def test_a_key_from_its_beginning_to_its_end(keys: Keys, client: Client) -> None:
    key, client.token = keys.add(f"{ASSISTANTS}:GET")
    assert client.request("GET", f"/data/{ASSISTANTS}/_normal_docs").status_code == 200
    assert client.request("POST", f"/data/{ASSISTANTS}/", json={"name": "A"}).status_code == 403
    assert client.request("GET", f"/data/{CONVERSATIONS}/_normal_docs").status_code == 403
    keys.remove(key.id)
    assert client.request("GET", f"/data/{ASSISTANTS}/_normal_docs").status_code == 401


@pytest.mark.parametrize("sent", ["Basic", "a parameter"])
def test_a_key_is_given_wherever_a_token_is(keys: Keys, client: Client, sent: str) -> None:
    _, text = keys.add(ASSISTANTS)
    basic = f"Basic {base64.b64encode(f'me:{text}'.encode()).decode()}"
    headers, params = (
        ({"Authorization": basic}, {}) if sent == "Basic" else ({"Authorization": ""}, {"bearer_token": text})
    )
    assert client.request("GET", f"/data/{ASSISTANTS}/_normal_docs", params=params, headers=headers).status_code == 200


def test_a_key_opens_a_websocket(keys: Keys, client: Client) -> None:
    with client.socket({"type": ASSISTANTS}, token=keys.add(ASSISTANTS)[1]) as socket:
        socket.sync()
        client.token = keys.add(ASSISTANTS)[1]
        client.request("POST", f"/data/{ASSISTANTS}/", json={"name": "A"})
        assert socket.receive()["event"] == "CREATED"


def test_without_a_scope_it_is_for_a_chat(keys: Keys, client: Client) -> None:
    key, client.token = keys.add()
    assert key.scope == f"{CONVERSATIONS}:POST {FILES}:GET"
    assert client.post("c1", {"q": "Hello"}).status_code == 202
    assert client.request("GET", f"/data/{CONVERSATIONS}/c1").status_code == 403


def test_it_is_kept_as_a_hash(keys: Keys, runtime: Runtime) -> None:
    key, text = keys.add(name="the script")
    doc = runtime.store.get(GLOBAL, DOCTYPE, key.id)
    _, _, secret = text.split("_")
    assert secret not in json.dumps(doc)
    assert len(bytes.fromhex(secret)) == 32
    assert (doc["name"], doc["domain"]) == ("the script", keys.instance.domain)


def test_keys_are_listed_without_what_opens(keys: Keys, runtime: Runtime) -> None:
    assert keys.all() == []
    first, second = keys.add(name="first")[0], keys.add(" io.cozy.files:GET \n io.cozy.jobs ")[0]
    Keys(runtime.store, new_instance(runtime)).add()
    assert keys.all() == [first, second]
    assert second.scope == "io.cozy.files:GET io.cozy.jobs"


def test_keys_are_of_one_instance(keys: Keys, runtime: Runtime) -> None:
    other = Keys(runtime.store, new_instance(runtime))
    key, text = other.add()
    with pytest.raises(InvalidToken):
        keys.permissions(text)
    for unknown in (key.id, "x", "_all_docs", "..", ""):
        with pytest.raises(NotFound):
            keys.remove(unknown)
    assert other.permissions(text).allow("GET", FILES)


def test_an_instance_that_is_made_anew_has_none_of_them(runtime: Runtime) -> None:
    instance = new_instance(runtime)
    _, text = Keys(runtime.store, instance).add()
    runtime.instances.remove(instance.domain)
    again = Keys(runtime.store, runtime.instances.add(instance.domain))
    with pytest.raises(InvalidToken):
        again.permissions(text)


@pytest.mark.parametrize("scope", ["", " \n"])
def test_a_key_that_would_open_nothing(keys: Keys, scope: str) -> None:
    with pytest.raises(Invalid):
        keys.add(scope)


@pytest.mark.parametrize(
    "odd", ["rck_", "rck_x", "rck__", "rck_../..", "rck_é", "rck_" + "0" * 16 + "_" + "0" * 64 + "\n"]
)
def test_what_is_no_key(keys: Keys, odd: str) -> None:
    with pytest.raises(InvalidToken):
        keys.permissions(odd)


@pytest.fixture
def app(runtime: Runtime) -> FlaskClient:
    limits = Limits(chat_per_minute=2)
    return create_app(Runtime(runtime.config.model_copy(update={"limits": limits})), Recorded()).test_client()


def test_messages_are_counted_for_each_key(app: FlaskClient, keys: Keys) -> None:
    def ask(key: str) -> int:
        headers = {"Host": keys.instance.domain, "Authorization": f"Bearer {key}"}
        return app.post("/ai/chat/conversations/c1", headers=headers, json={"q": "Hello"}).status_code

    one, other = keys.add()[1], keys.add()[1]
    answers = [ask(one) for _ in range(5)]  # a new minute may begin in between
    assert answers.count(202) in range(2, 5)
    assert set(answers) == {202, 429}
    assert ask(other) == 202
