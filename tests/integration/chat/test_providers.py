"""Accounts in the real document database."""

import logging

import pytest
from nacl.public import Box

from ragcore.chat.providers import Provider, provider_of
from ragcore.documents import ACCOUNTS
from ragcore.errors import Retryable
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from ragcore.store import Store
from ragcore.vault import Vault
from tests.support.vault import PASSWORD, RECEIVER, SEALED, SENDER

VAULT = Vault(Box(RECEIVER, SENDER.public_key))
ACCOUNT = {"_id": "acc", "auth": {"login": "large", "credentials_encrypted": SEALED}, "data": {"baseUrl": "http://llm"}}


def test_an_account_is_read_at_each_question(runtime: Runtime, instance: Instance) -> None:
    saved = runtime.store.save(instance, ACCOUNTS, ACCOUNT)
    assert provider_of(runtime.store, instance, VAULT, "acc") == Provider("large", "http://llm", PASSWORD)
    runtime.store.save(instance, ACCOUNTS, {**saved, "data": {"model": "small"}})
    assert provider_of(runtime.store, instance, VAULT, "acc") == Provider("small", "", PASSWORD)


@pytest.mark.parametrize("account_id", ["missing", "_all_docs", "_design/x", "../acc"])
def test_an_account_that_cannot_be_read_means_the_default(
    runtime: Runtime, instance: Instance, account_id: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert provider_of(runtime.store, instance, VAULT, account_id) is None
    runtime.store.save(instance, ACCOUNTS, ACCOUNT)
    assert provider_of(runtime.store, instance, VAULT, account_id) is None
    assert f"account {account_id}: the default LLM is used" in caplog.text


def test_credentials_that_cannot_be_opened_mean_the_default(
    runtime: Runtime, instance: Instance, caplog: pytest.LogCaptureFixture
) -> None:
    runtime.store.save(instance, ACCOUNTS, ACCOUNT)
    with caplog.at_level(logging.DEBUG):
        assert provider_of(runtime.store, instance, Vault(), "acc") is None
    assert "no key is configured" in caplog.text
    assert SEALED not in caplog.text


def test_an_empty_account_means_the_default(runtime: Runtime, instance: Instance) -> None:
    runtime.store.save(instance, ACCOUNTS, {"_id": "acc", "auth": {}})
    assert provider_of(runtime.store, instance, VAULT, "acc") is None
    assert provider_of(runtime.store, instance, VAULT, None) is None
    assert provider_of(runtime.store, instance, VAULT, "") is None


def test_a_database_that_is_away_fails_the_question(instance: Instance) -> None:
    with pytest.raises(Retryable):
        provider_of(Store("http://127.0.0.1:1/", lambda domain, event: None), instance, VAULT, "acc")
