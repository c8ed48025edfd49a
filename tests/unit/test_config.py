from collections.abc import Callable
from pathlib import Path

import pytest

from ragcore import config
from ragcore.config import Config, ConfigError

SECRET = "s3cret"
Load = Callable[..., Config]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads a file of that text, and an environment."""

    def load(text: str = "", **environ: str) -> Config:
        path = tmp_path / "conf.yaml"
        path.write_text(text, encoding="utf-8")
        return config.load(environ, path)

    return load


def mistake(load: Load, text: str = "", **environ: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(text, **environ)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert SECRET not in message
    return message


def test_the_defaults_are_those_of_the_design(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "PLACES", ())
    found = config.load({})
    assert (found.host, found.port, found.scheme) == ("127.0.0.1", 8080, "http")
    assert (found.admin.host, found.admin.port, found.admin.passphrase.get_secret_value()) == ("127.0.0.1", 6060, "")
    assert found.couchdb.url == "http://admin:password@127.0.0.1:5984/"
    assert found.redis.url == "redis://127.0.0.1:6379/0"
    assert found.broker.url == ""
    assert found.fs.url == "file:///var/lib/ragcore"
    assert found.limits.model_dump() == {
        "body": 64 << 20,
        "chat_per_minute": 6000,
        "sockets_per_token": 10000,
        "subscriptions_per_socket": 200,
    }
    assert found.trusted_proxies == found.origins == []
    assert found.index_status.require_token is False
    assert found.rag["default"].url == "http://127.0.0.1:8000"
    assert found.rag["default"].single_tool_call is False
    assert found.contexts["default"].model_dump() == {"features": {}, "reindex": ""}
    assert found.jobs.rag_index.model_dump() == {
        "max_exec_count": 3,
        "retry_delay": 30,
        "timeout": 900,
        "max_batch_retries": 15,
        "batch_size": 100,
        "parallel_requests": 8,
        "grace": 30,
    }
    assert found.jobs.rag_query.model_dump() == {
        "timeout": 900,
        "headers_timeout": 300,
        "silence_timeout": 300,
        "grace": 30,
    }


def test_an_empty_file_gives_the_defaults(load: Load) -> None:
    assert load("# nothing yet\n") == Config()


def test_the_file_is_read(load: Load) -> None:
    found = load("""
port: 81
limits: {body: 1MiB}
origins: [http://a, http://b]
jobs:
  rag-index: {timeout: 2m, batch_size: 7}
  rag-query: {grace: 5}
rag:
  default: {url: "http://one", api_key: k}
  beta: {url: "https://two", single_tool_call: true}
contexts:
  big: {features: {rag.server: beta}}
""")
    assert found.port == 81
    assert found.limits.body == 1 << 20
    assert found.origins == ["http://a", "http://b"]
    assert (found.jobs.rag_index.timeout, found.jobs.rag_index.batch_size) == (120, 7)
    assert found.jobs.rag_index.max_exec_count == 3
    assert found.jobs.rag_query.grace == 5
    assert found.rag["beta"].single_tool_call is True
    assert found.rag["default"].api_key.get_secret_value() == "k"
    assert found.contexts["big"].features == {"rag.server": "beta"}


def test_the_environment_wins(load: Load) -> None:
    text = "redis: {url: 'redis://file'}\njobs: {rag-index: {timeout: 1s, batch_size: 7}}"
    found = load(text, RAGCORE_REDIS_URL="redis://environment", RAGCORE_JOBS_RAG_INDEX_TIMEOUT="1m30s")
    assert found.redis.url == "redis://environment"
    assert (found.jobs.rag_index.timeout, found.jobs.rag_index.batch_size) == (90, 7)


def test_other_variables_are_not_ours(load: Load) -> None:
    assert load(REDIS_URL="nonsense", PATH="/bin") == Config()


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("", []),
        ("http://a", ["http://a"]),
        (",http://a,, http://b,", ["http://a", "http://b"]),
        ("HTTPS://App.Example.net:8443/, app://x", ["https://app.example.net:8443", "app://x"]),
    ],
)
def test_lists_from_the_environment(load: Load, value: str, names: list[str]) -> None:
    assert load(RAGCORE_ORIGINS=value).origins == names


def test_proxies_are_addresses_or_networks(load: Load) -> None:
    found = load(RAGCORE_TRUSTED_PROXIES="10.0.0.1, 10.1.0.0/16, ::1").trusted_proxies
    assert [str(network) for network in found] == ["10.0.0.1/32", "10.1.0.0/16", "::1/128"]
    with pytest.raises(ConfigError, match="trusted_proxies.0: value is not a valid IPv4"):
        load(RAGCORE_TRUSTED_PROXIES="proxy.example")


@pytest.mark.parametrize(
    ("name", "value", "get"),
    [
        ("RAGCORE_PORT", "81", lambda c: c.port == 81),
        ("RAGCORE_LIMITS_BODY", "2KiB", lambda c: c.limits.body == 2048),
        ("RAGCORE_INDEX_STATUS_REQUIRE_TOKEN", "true", lambda c: c.index_status.require_token is True),
        ("RAGCORE_ADMIN_PASSPHRASE", "p", lambda c: c.admin.passphrase.get_secret_value() == "p"),
        ("RAGCORE_JOBS_RAG_QUERY_SILENCE_TIMEOUT", "5s", lambda c: c.jobs.rag_query.silence_timeout == 5),
        ("RAGCORE_VAULT_CREDENTIALS_ENCRYPTOR_KEY", "a.pem", lambda c: c.vault.credentials_encryptor_key == "a.pem"),
    ],
)
def test_every_key_is_a_variable(load: Load, name: str, value: str, get: Callable[[Config], bool]) -> None:
    assert get(load(**{name: value}))


def test_the_named_file_comes_before_the_usual_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, named = tmp_path / "ragcore.yaml", tmp_path / "named.yaml"
    here.write_text("port: 81")
    named.write_text("port: 82")
    monkeypatch.setattr(config, "PLACES", (tmp_path / "missing.yaml", here))
    assert config.load({}).port == 81
    assert config.load({"RAGCORE_CONFIG": str(named)}).port == 82
    assert config.load({"RAGCORE_CONFIG": str(named), "RAGCORE_PORT": "83"}).port == 83


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: cannot be read"):
        config.load({"RAGCORE_CONFIG": str(tmp_path / "nowhere.yaml")})


@pytest.mark.parametrize(
    ("text", "words"),
    [("a: [", "not YAML"), ("a: b: c", "not YAML"), ("- a\n- b", "keys and values"), ("just text", "keys and values")],
)
def test_a_file_that_is_no_configuration(load: Load, text: str, words: str) -> None:
    message = mistake(load, text)
    assert "conf.yaml" in message
    assert words in message


def test_a_file_that_is_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "conf.yaml"
    path.write_bytes(b"host: \xff")
    with pytest.raises(ConfigError, match="not YAML"):
        config.load({}, path)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("prot: 80", "prot"),
        ("redis: {uri: 'redis://h'}", "redis.uri"),
        ("jobs: {rag-index: {timeuot: 1s}}", "jobs.rag-index.timeuot"),
        ("jobs: {rag: {}}", "jobs.rag"),
        (f"rag: {{default: {{url: 'http://h', apikey: {SECRET}}}}}", "rag.default.apikey"),
        ("contexts: {default: {feature: {}}}", "contexts.default.feature"),
    ],
)
def test_an_unknown_key_is_named(load: Load, text: str, key: str) -> None:
    message = mistake(load, text)
    assert message.endswith(f" {key}: no such key")
    assert "conf.yaml" in message


@pytest.mark.parametrize(
    "name", ["RAGCORE_PROT", "RAGCORE_REDIS", "RAGCORE_RAG", "RAGCORE_RAG_DEFAULT_URL", "RAGCORE_"]
)
def test_an_unknown_variable_is_named(load: Load, name: str) -> None:
    assert mistake(load, **{name: SECRET}) == f"{name}: no such key"


@pytest.mark.parametrize(
    ("text", "key", "given"),
    [
        ("port: eighty", "port", "eighty"),
        ("port: 70000", "port", "70000"),
        ("scheme: gopher", "scheme", "gopher"),
        ("limits: {body: 64MB}", "limits.body", "64MB"),
        ("limits: {body: -1}", "limits.body", "-1"),
        ("jobs: {rag-index: {timeout: soon}}", "jobs.rag-index.timeout", "soon"),
        ("jobs: {rag-index: {max_exec_count: 0}}", "jobs.rag-index.max_exec_count", "0"),
        ("jobs: {rag-query: {grace: -3}}", "jobs.rag-query.grace", "-3"),
        ("index_status: {require_token: perhaps}", "index_status.require_token", "perhaps"),
        ("redis: {url: 'http://h:6379'}", "redis.url", "http://h:6379"),
        ("redis: {url: 'redis://a,b'}", "redis.url", "redis://a,b"),
        ("redis: {url: 'redis+sentinel://a,b'}", "redis.url", "redis+sentinel://a,b"),
        ("redis: {url: 'redis+sentinel://a/main/x'}", "redis.url", "redis+sentinel://a/main/x"),
        ("redis: {url: 'redis+sentinel://a,/main'}", "redis.url", "redis+sentinel://a,/main"),
        ("broker: {url: 'redis://h'}", "broker.url", "redis://h"),
        ("broker: {url: 'amqp://h:x/'}", "broker.url", "amqp://h:x/"),
        ("fs: {url: 'swift://h'}", "fs.url", "swift://h"),
        ("rag: {beta: {url: 'h:8000'}}", "rag.beta.url", "h:8000"),
        ("origins: [1, 2]", "origins.0", "1"),
        ("origins: [http://a, '*']", "origins.1", "*"),
        ("origins: [app.example.net]", "origins.0", "app.example.net"),
        ("origins: [http://a/page]", "origins.0", "http://a/page"),
        ("contexts: {beta: {reindex: '0 1 * * *'}}", "contexts.beta.reindex", "0 1 * * *"),
        ('scheme: "a\\nb"', "scheme", r"a\nb"),
    ],
)
def test_a_bad_value_names_its_key(load: Load, text: str, key: str, given: str) -> None:
    message = mistake(load, text)
    assert f"conf.yaml: {key}: " in message
    assert f"(it is '{given}')" in message


@pytest.mark.parametrize(
    ("text", "key"),
    [("redis: here", "redis"), ("rag: {default: {}}", "rag.default.url"), ("rag: [a]", "rag"), ("jobs: 3", "jobs")],
)
def test_a_wrong_shape_names_its_key(load: Load, text: str, key: str) -> None:
    assert f"conf.yaml: {key}: " in mistake(load, text)


def test_a_bad_value_of_the_environment_names_the_variable(load: Load) -> None:
    message = mistake(load, "port: 81", RAGCORE_PORT="eighty")
    assert message.startswith("RAGCORE_PORT (port): ")
    assert "conf.yaml" not in message


def test_a_variable_below_a_key_that_holds_no_keys(load: Load) -> None:
    message = mistake(load, "redis: here", RAGCORE_REDIS_URL="redis://h")
    assert message.startswith("redis: ")
    assert "RAGCORE_REDIS_URL" in message


def test_a_variable_fills_an_empty_section(load: Load) -> None:
    assert load("redis:\n", RAGCORE_REDIS_URL="redis://h").redis.url == "redis://h"


@pytest.mark.parametrize(
    "text",
    [
        f"couchdb: {{url: 'ftp://admin:{SECRET}@h'}}",
        f"redis: {{url: 'http://:{SECRET}@h'}}",
        f"redis: {{url: 'redis+sentinel://:{SECRET}@h?sentinel_password={SECRET}'}}",
        f"redis: {{url: 'redis+sentinel://:{SECRET}@[::1]/m?password={SECRET}'}}",
        f"broker: {{url: 'amqp://u:{SECRET}@h:0'}}",
        f"rag: {{default: {{url: 'http://h', api_key: [{SECRET}]}}}}",
        f"admin: {{passphrase: [{SECRET}]}}",
        f"admin: [{SECRET}]",
        pytest.param(
            f"couchdb: {{url: 'admin:{SECRET}@h:5984'}}",
        ),
        pytest.param(
            f"admin: {{passphrase: {SECRET}: x}}",
        ),
    ],
)
def test_no_message_holds_a_secret(load: Load, text: str) -> None:
    mistake(load, text)


def test_a_secret_that_is_a_number_is_not_shown(load: Load) -> None:
    assert "987654" not in mistake(load, "rag: {default: {url: 'http://h', api_key: 987654}}")
    assert "987654" not in mistake(load, "admin: {passphrase: 987654}")


def test_a_value_with_a_bracket_is_a_mistake_like_others(load: Load) -> None:
    assert "couchdb.url" in mistake(load, RAGCORE_COUCHDB_URL="ftp://[::1/")


def test_secrets_are_not_shown_with_the_configuration(load: Load) -> None:
    found = load(f"admin: {{passphrase: {SECRET}}}\nrag: {{default: {{url: 'http://h', api_key: {SECRET}}}}}")
    assert SECRET not in repr(found)


def test_the_configuration_does_not_change(load: Load) -> None:
    with pytest.raises(ValueError, match="frozen"):
        load().port = 1


@pytest.mark.parametrize(
    ("domain", "url"),
    [
        ("alice.localhost", "http://alice.localhost:81"),
        ("alice.localhost:9000", "http://alice.localhost:9000"),
        ("alice.example.org", "http://alice.example.org"),
        ("alice.localhost.example.org", "http://alice.localhost.example.org"),
    ],
)
def test_the_public_url_of_an_instance(load: Load, domain: str, url: str) -> None:
    assert load("port: 81").public_url(domain) == url
    assert load("scheme: https").public_url("a.example.org") == "https://a.example.org"


def test_plans_have_names_of_their_own_and_what_is_left_out_has_no_limit(load: Load) -> None:
    assert load().plans == {}
    plans = load("plans: {free: {ask: 50, tokens: 100000, upgrade_url: 'https://example.net/'}, pro: {agent: 0}}").plans
    assert plans["free"].model_dump() == {
        "ask": 50,
        "agent": None,
        "tokens": 100000,
        "upgrade_url": "https://example.net/",
    }
    assert (plans["pro"].agent, plans["pro"].tokens, plans["pro"].upgrade_url) == (0, None, "")


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ("{token: 1}", "plans.free.token: no such key"),
        ("{tokens: -1}", "plans.free.tokens: input should be greater than or equal to 0"),
        ("{tokens: many}", "plans.free.tokens: input should be a valid integer"),
        ("{upgrade_url: 'javascript:x'}", "plans.free.upgrade_url: must begin with http:// or https://"),
    ],
)
def test_a_mistake_in_a_plan(load: Load, plan: str, said: str) -> None:
    assert said in mistake(load, f"plans: {{free: {plan}}}")
