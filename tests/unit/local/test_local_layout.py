from pathlib import Path

import pytest
import yaml

from deploy.local.layout import Layout

PORTS = {"redis": 1, "couchdb": 2, "openrag": 3, "api": 4, "admin": 5}


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path, dict(PORTS))


def test_the_configuration_names_the_servers_of_the_stack(layout: Layout) -> None:
    layout.write_config({})
    config = yaml.safe_load(layout.config_path.read_text())
    assert config["port"] == 4
    assert config["redis"]["url"] == "redis://127.0.0.1:1/0"
    assert config["couchdb"]["url"] == "http://127.0.0.1:2/"
    assert config["rag"]["default"]["url"] == "http://127.0.0.1:3"
    assert config["contexts"]["default"]["reindex"].split()[:3] == ["0", "0", "1"]  # each night
    assert config["fs"]["url"] == f"file://{layout.data}/files"


def test_further_keys_are_laid_over_it_without_losing_the_others(layout: Layout) -> None:
    layout.write_config({"rag": {"other": {"url": "http://x"}}, "admin": {"passphrase": "p"}, "scheme": "https"})
    config = yaml.safe_load(layout.config_path.read_text())
    assert set(config["rag"]) == {"default", "other"}
    assert config["admin"] == {"host": "127.0.0.1", "port": 5, "passphrase": "p"}
    assert config["scheme"] == "https"


def test_variables_that_would_lead_to_other_servers_are_left_out(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGCORE_REDIS_URL", "redis://elsewhere/")
    monkeypatch.setenv("NO_PROXY", "intranet")
    env = layout.environment()
    assert "RAGCORE_REDIS_URL" not in env
    assert env["RAGCORE_CONFIG"] == str(layout.config_path)
    assert env["NO_PROXY"] == "intranet,127.0.0.1,localhost"
