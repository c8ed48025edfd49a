import json
from typing import Any

import pytest
from nacl.public import Box

from ragcore.accounts import asks_for_secrets, is_secret, seal, without_secrets
from ragcore.errors import Invalid
from ragcore.events import Event
from ragcore.vault import NoKey, Sealer, Vault
from tests.support.vault import RECEIVER, SENDER

SEALER = Sealer(Box(SENDER, RECEIVER.public_key))
VAULT = Vault(Box(RECEIVER, SENDER.public_key))


def opened(text: str) -> tuple[str, str]:
    credentials = VAULT.open(text)
    return credentials.login, credentials.password


@pytest.mark.parametrize(
    "name", ["password", "credentials_encrypted", "apiKey", "api_key", "Access-Token", "a_encrypted"]
)
def test_secrets_are_known_by_their_names(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ["login", "model", "baseUrl", "passwords", "account_type", "_id", "encrypted_by"])
def test_other_names_are_no_secrets(name: str) -> None:
    assert not is_secret(name)


def test_a_password_is_sealed_with_its_login() -> None:
    saved = seal({"auth": {"login": "large", "password": "sk-1"}, "data": {"model": "m"}}, {}, SEALER)
    assert saved["data"] == {"model": "m"}
    assert set(saved["auth"]) == {"login", "credentials_encrypted"}
    assert opened(saved["auth"]["credentials_encrypted"]) == ("large", "sk-1")


def test_other_secrets_are_sealed_wherever_they_stand() -> None:
    saved = seal({"oauth": [{"access_token": "t-1"}], "auth": {"secret": {"a": "s-1"}, "password": 12}}, {}, SEALER)
    assert list(saved["oauth"][0]) == ["access_token_encrypted"]
    assert set(saved["auth"]) == {"secret_encrypted", "credentials_encrypted"}
    assert not [secret for secret in ("t-1", "s-1", "12") if f'"{secret}"' in json.dumps(saved)]


def test_what_is_not_sent_again_is_kept() -> None:
    stored = seal({"auth": {"login": "l", "password": "p", "token": "t"}, "list": [{"secret": "s"}]}, {}, SEALER)
    shown = without_secrets(stored)
    assert shown == {"auth": {"login": "l"}, "list": [{}]}
    assert seal(shown | {"data": {}}, stored, SEALER) == stored | {"data": {}}


def test_a_new_password_takes_the_place_of_the_former() -> None:
    stored = seal({"auth": {"login": "l", "password": "p"}}, {}, SEALER)
    saved = seal({"auth": {"login": "l", "password": "new"}}, stored, SEALER)
    assert opened(saved["auth"]["credentials_encrypted"]) == ("l", "new")


@pytest.mark.parametrize(("sent", "kept"), [({}, True), ({"password": ""}, True), ({"password": None}, False)])
def test_null_takes_a_password_away(sent: dict[str, Any], kept: bool) -> None:
    stored = seal({"auth": {"login": "l", "password": "p"}}, {}, SEALER)
    assert ("credentials_encrypted" in seal({"auth": sent}, stored, SEALER)["auth"]) is kept


def test_a_plain_password_that_somebody_else_wrote_is_sealed_at_the_next_save() -> None:
    saved = seal({"auth": {"login": "l"}}, {"auth": {"login": "l", "password": "plain"}}, SEALER)
    assert set(saved["auth"]) == {"login", "credentials_encrypted"}
    assert opened(saved["auth"]["credentials_encrypted"]) == ("l", "plain")


def test_only_the_vault_writes_what_is_sealed() -> None:
    assert seal({"auth": {"credentials_encrypted": "plain text"}}, {}, SEALER) == {"auth": {}}


def test_without_a_key_a_secret_is_refused_and_all_else_is_not() -> None:
    assert seal({"auth": {"login": "l"}}, {}, Sealer()) == {"auth": {"login": "l"}}
    with pytest.raises(NoKey):
        seal({"auth": {"password": "p"}}, {}, Sealer())


def test_a_url_that_holds_a_password_is_refused_and_is_shown_without_it() -> None:
    stored = {"data": {"baseUrl": "https://u:p@llm/v1"}}
    with pytest.raises(Invalid, match="holds a password"):
        seal(stored, {}, SEALER)
    shown = without_secrets(stored)
    assert shown == {"data": {"baseUrl": "https://llm/v1"}}
    assert seal(shown, stored, SEALER) == stored
    assert without_secrets({"baseUrl": "https://u:p@[llm"}) == {"baseUrl": ""}


@pytest.mark.parametrize(
    "query",
    [
        {"selector": {"auth.password": {"$gt": "a"}}},
        {"selector": {"auth": {"password": "a"}}},
        {"selector": {"auth": {"$gt": {"credentials_encrypted": "bmFj"}}}},
        {"selector": {"$or": [{"a": 1}, {"$not": {"auth.pass\\word": {"$regex": "^a"}}}]}},
        {"selector": {"list": {"$elemMatch": {"access_token": "a"}}}},
        {"selector": {}, "sort": ["auth.password"]},
        {"selector": {}, "sort": [{"auth.password": "desc"}]},
        {"selector": {}, "fields": ["auth.credentials_encrypted"]},
        {"index": {"fields": ["auth.password"]}},
        {"index": {"fields": ["x"], "partial_filter_selector": {"auth.password": "a"}}},
        {"selector": {"data.baseUrl": {"$regex": "p@"}}},
    ],
)
def test_a_query_that_names_a_secret_is_known(query: dict[str, Any]) -> None:
    assert asks_for_secrets(query)


def test_other_queries_are_not_held_up() -> None:
    assert not asks_for_secrets(
        {"selector": {"account_type": "openai", "auth.login": "l"}, "sort": [{"cozyMetadata.updatedAt": "asc"}]}
    )


@pytest.mark.parametrize("verb", ["CREATED", "UPDATED", "NOTIFIED"])
def test_an_event_of_an_account_tells_no_secret(verb: str) -> None:
    doc = {"_rev": "1-a", "auth": {"login": "l", "password": "p", "credentials_encrypted": "bmFj"}}
    told = json.loads(Event(verb, "io.cozy.accounts", "acc", doc).encode())["payload"]["doc"]
    assert told == {"_id": "acc", "_rev": "1-a", "auth": {"login": "l"}}
