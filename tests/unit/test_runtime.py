from pathlib import Path

import pytest

from ragcore.config import Config, ConfigError
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from tests.support.vault import PASSWORD, SEALED, decryptor_file


def test_nothing_is_connected_before_it_is_used() -> None:
    config = Config.model_validate(
        {"redis": {"url": "redis://127.0.0.1:1/0"}, "couchdb": {"url": "http://127.0.0.1:1/"}}
    )
    runtime = Runtime(config)
    assert runtime.store is runtime.store
    assert runtime.instances is runtime.instances
    assert runtime.publisher is runtime.publisher
    assert runtime.redis.connection_pool.connection_kwargs["port"] == 1


def test_the_client_of_openrag_is_for_the_partition_of_the_instance() -> None:
    runtime = Runtime(Config())
    assert runtime.openrag(Instance("alice.localhost", "p")).partition == "alice.localhost"


def test_the_vault_has_the_key_of_the_configuration(tmp_path: Path) -> None:
    files = {"credentials_decryptor_key": str(decryptor_file(tmp_path))}
    assert Runtime(Config.model_validate({"vault": files})).vault.open(SEALED).password == PASSWORD
    files = {"credentials_decryptor_key": str(tmp_path / "missing")}
    with pytest.raises(ConfigError):
        _ = Runtime(Config.model_validate({"vault": files})).vault
