from typing import Any

import pytest
from nacl.public import Box

from ragcore.chat.providers import Unusable, from_account
from ragcore.vault import Sealed, Vault
from tests.support.vault import PASSWORD, RECEIVER, SEALED, SENDER, sealed_credentials

VAULT = Vault(Box(RECEIVER, SENDER.public_key))
URL = "https://llm.example"


def override(account: dict[str, Any], vault: Vault = VAULT) -> dict[str, str]:
    return from_account(account, vault).llm_override


def test_the_model_the_url_and_the_key_of_an_account() -> None:
    account = {"auth": {"login": "large", "credentials_encrypted": SEALED}, "data": {"baseUrl": URL}}
    assert override(account) == {"model": "large", "base_url": URL, "api_key": PASSWORD}


@pytest.mark.parametrize(
    ("data", "login", "model"),
    [
        ({"model": "small"}, "large", "small"),
        ({"model": ""}, "large", "large"),
        ({"model": " "}, "large", "large"),
        ({"model": None}, "large", "large"),
        ({"model": 3}, "large", "large"),
        ({"model": "small"}, "", "small"),
        (None, "large", "large"),
        ("small", "large", "large"),
    ],
)
def test_which_model_is_used(data: Any, login: str, model: str) -> None:
    assert override({"auth": {"login": login}, "data": data}) == {"model": model}


def test_a_model_that_is_only_sealed_is_not_used() -> None:
    assert override({"auth": {"credentials_encrypted": SEALED}}) == {"api_key": PASSWORD}
    assert override({"auth": {"login": "new", "credentials_encrypted": SEALED}})["model"] == "new"


@pytest.mark.parametrize(
    ("sealed", "plain", "key"),
    [
        (SEALED, "plain", PASSWORD),
        ("", "plain", "plain"),
        (None, "plain", "plain"),
        ({}, "plain", "plain"),
        ("damaged", "plain", "plain"),
        (sealed_credentials("model", ""), "plain", "plain"),
    ],
    ids=lambda value: "key",  # each run seals anew
)
def test_which_key_is_used(sealed: Any, plain: str, key: str) -> None:
    assert override({"auth": {"credentials_encrypted": sealed, "password": plain}}) == {"api_key": key}


@pytest.mark.parametrize(
    "account",
    [
        {},
        {"auth": None, "data": None},
        {"auth": [], "data": "x"},
        {"auth": {"login": "", "password": " "}, "data": {"baseUrl": ""}},
        {"auth": {"credentials_encrypted": sealed_credentials("model", "")}},
    ],
)
def test_an_account_without_any_of_the_three_overrides_nothing(account: dict[str, Any]) -> None:
    assert override(account) == {}


@pytest.mark.parametrize("vault", [VAULT, Vault()])
def test_an_account_whose_only_key_cannot_be_opened_is_not_used_without_it(vault: Vault) -> None:
    """openRAG might send its own key to the account's URL."""
    with pytest.raises(Sealed):
        override({"auth": {"login": "large", "credentials_encrypted": "damaged"}, "data": {"baseUrl": URL}}, vault)


def test_a_plain_key_needs_no_vault() -> None:
    account = {"auth": {"credentials_encrypted": SEALED, "password": "plain"}}
    assert override(account, Vault()) == {"api_key": "plain"}


def test_neither_the_key_nor_the_url_is_in_a_repr() -> None:
    account = {"auth": {"login": "large", "password": "s3cret"}, "data": {"baseUrl": "https://u:pass@llm.example"}}
    assert repr(from_account(account, VAULT)) == "Provider(model='large')"


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "gopher://h/", "javascript:x", "llm.example", "http://", "ht tp://h"]
)
def test_a_url_that_is_not_of_the_web_is_not_passed_on(url: str) -> None:
    with pytest.raises(Unusable):
        from_account({"auth": {"login": "large", "password": "s3cret"}, "data": {"baseUrl": url}}, Vault())
