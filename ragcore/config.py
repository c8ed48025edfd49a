"""The configuration: one YAML file, each key also as an environment variable, which wins.

The file is named by `RAGCORE_CONFIG`, else `ragcore.yaml` here, else `/etc/ragcore/ragcore.yaml`.
`jobs.rag-index.timeout` is `RAGCORE_JOBS_RAG_INDEX_TIMEOUT`. A mistake is a `ConfigError` of one line that
names the key.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    IPvAnyNetwork,
    SecretStr,
    ValidationError,
)

from ragcore.errors import Invalid, RagcoreError
from ragcore.servers import SENTINEL, Sentinels, Servers
from ragcore.triggers import schedules
from ragcore.units import parse_duration, parse_size, without_password

PREFIX = "RAGCORE_"
PLACES = (Path("ragcore.yaml"), Path("/etc/ragcore/ragcore.yaml"))


class ConfigError(RagcoreError):
    """A mistake in the configuration, in one line that names the key."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


def _split(value: Any) -> Any:
    return [item.strip() for item in value.split(",") if item.strip()] if isinstance(value, str) else value


def _url_of(*schemes: str, several: bool = False, optional: bool = False) -> AfterValidator:
    """`several`: it may name more than one host; `optional`: it may be empty."""

    def check(value: str) -> str:
        if optional and not value:
            return value
        if not value.startswith(tuple(f"{scheme}://" for scheme in schemes)):
            raise ValueError(f"must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}")
        try:
            if several:
                Servers.parse(value)
            assert several or urlsplit(value).port != 0  # noqa: S101
        except (ValueError, AssertionError):
            raise ValueError("is not a URL") from None
        return value

    return AfterValidator(check)


def _check_sentinels(value: str) -> str:
    """Whose service is named, where it is one of theirs; a Redis alone has one host."""
    if Sentinels.parse(value) is None and len(Servers.parse(value).hosts) > 1:
        raise ValueError(f"names several hosts: those of Sentinels begin with {SENTINEL[0]}://")
    return value


def _origin(value: str) -> str:
    """As browsers tell it."""
    origin = value.lower().rstrip("/")
    if not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/?#@\s*]+", origin):
        raise ValueError("is no origin: a scheme and a host, like https://app.example.net; an empty list is any")
    return origin


def _read_with(parse: Callable[[str], float]) -> BeforeValidator:
    return BeforeValidator(lambda value: parse(value) if isinstance(value, str) else value)


def _check_cron(line: str) -> str:
    try:
        return line and schedules.cron(line).line
    except Invalid as error:
        raise ValueError(str(error)) from None


Duration = Annotated[float, _read_with(parse_duration), Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
Size = Annotated[int, _read_with(parse_size), Field(ge=0)]
Origins = Annotated[list[Annotated[str, AfterValidator(_origin)]], BeforeValidator(_split)]
Networks = Annotated[list[IPvAnyNetwork], BeforeValidator(_split)]
Port = Annotated[int, Field(ge=1, le=65535)]
HttpUrl = Annotated[str, _url_of("http", "https")]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Admin(Section):
    host: str = "127.0.0.1"
    port: Port = 6060
    passphrase: SecretStr = SecretStr("")


class CouchDB(Section):
    url: HttpUrl = "http://admin:password@127.0.0.1:5984/"


class Redis(Section):
    """The URL of the server, or of Sentinels: `redis+sentinel://:password@one:26379,two:26379/SERVICE/0`."""

    url: Annotated[str, _url_of("redis", "rediss", *SENTINEL, several=True), AfterValidator(_check_sentinels)] = (
        "redis://127.0.0.1:6379/0"
    )


class Broker(Section):
    """What takes the jobs to their workers: RabbitMQ, or the Redis where there is no URL."""

    url: Annotated[str, _url_of("amqp", "amqps", several=True, optional=True)] = ""


class Storage(Section):
    url: Annotated[str, _url_of("file")] = "file:///var/lib/ragcore"


class Vault(Section):
    credentials_encryptor_key: str = ""
    credentials_decryptor_key: str = ""


class Limits(Section):
    """0 is no limit; `body` is in bytes."""

    body: Size = 64 << 20
    chat_per_minute: Count = 6000
    sockets_per_token: Count = 10000
    subscriptions_per_socket: Count = 200


class IndexStatus(Section):
    require_token: bool = False


class RagServer(Section):
    url: HttpUrl
    api_key: SecretStr = SecretStr("")
    single_tool_call: bool = False
    similarity_threshold: Annotated[float, Field(ge=0, le=1)] = 0.25  # of the passages of grounded answers


class Plan(Section):
    """What an instance may use in a day of UTC: questions of a surface, and tokens. What is left out has no limit."""

    ask: Count | None = None
    agent: Count | None = None
    tokens: Count | None = None
    upgrade_url: Annotated[str, _url_of("http", "https", optional=True)] = ""


class Context(Section):
    features: dict[str, Any] = {}
    reindex: Annotated[str, AfterValidator(_check_cron)] = ""


class IndexJobs(Section):
    max_exec_count: Annotated[int, Field(ge=1)] = 3
    retry_delay: Duration = 30
    timeout: Duration = 15 * 60
    max_batch_retries: Annotated[int, Field(ge=0)] = 15
    batch_size: Annotated[int, Field(ge=1)] = 100
    parallel_requests: Annotated[int, Field(ge=1)] = 8
    grace: Duration = 30


class QueryJobs(Section):
    timeout: Duration = 15 * 60
    headers_timeout: Duration = 5 * 60
    silence_timeout: Duration = 5 * 60
    grace: Duration = 30


class Jobs(Section):
    rag_index: IndexJobs = Field(default=IndexJobs(), alias="rag-index")
    rag_query: QueryJobs = Field(default=QueryJobs(), alias="rag-query")


class Config(Section):
    """All of it, checked. Durations are in seconds, sizes in bytes."""

    host: str = "127.0.0.1"
    port: Port = 8080
    scheme: Literal["http", "https"] = "http"
    admin: Admin = Admin()
    couchdb: CouchDB = CouchDB()
    redis: Redis = Redis()
    broker: Broker = Broker()
    fs: Storage = Storage()
    vault: Vault = Vault()
    limits: Limits = Limits()
    trusted_proxies: Networks = []
    origins: Origins = []
    index_status: IndexStatus = IndexStatus()
    rag: dict[str, RagServer] = {"default": RagServer(url="http://127.0.0.1:8000")}
    contexts: dict[str, Context] = {"default": Context()}
    plans: dict[str, Plan] = {}
    jobs: Jobs = Jobs()

    def public_url(self, domain: str) -> str:
        """The base URL of an instance, without a final slash.

        No proxy stands before a name under `.localhost`: there, the port is the API's own.
        """
        port = f":{self.port}" if domain.endswith(".localhost") else ""
        return f"{self.scheme}://{domain}{port}"


def load(environ: Mapping[str, str] = os.environ, path: Path | None = None) -> Config:
    """Reads the file and the environment. Raises ConfigError."""
    path = path or _find_file(environ)
    values = _read(path) if path else {}
    for name, keys in _settable(environ):
        _set(values, keys, environ[name], name)
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        raise ConfigError(_explain(error, environ, path)) from None


def _find_file(environ: Mapping[str, str]) -> Path | None:
    if named := environ.get("RAGCORE_CONFIG"):
        return Path(named)
    return next((place for place in PLACES if place.exists()), None)


def _read(path: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not YAML{_line_of(error)}") from None
    if not isinstance(values, dict | None):
        raise ConfigError(f"{path}: must hold keys and values")
    return values or {}


def _settable(environ: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The variables that are set and mean a key; one that means nothing is a mistake."""
    known = dict(_variables(Config))
    for name in environ:
        if name.startswith(PREFIX) and name != "RAGCORE_CONFIG":
            if name not in known:
                raise ConfigError(f"{name}: no such key")
            yield name, known[name]


def _variables(model: type[BaseModel], above: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    for field, info in model.model_fields.items():
        keys = (*above, info.alias or field)
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield from _variables(info.annotation, keys)
        elif field not in ("rag", "contexts", "plans"):
            yield _variable(keys), keys


def _variable(keys: tuple[str, ...]) -> str:
    return PREFIX + "_".join(keys).replace("-", "_").upper()


def _set(values: dict[str, Any], keys: tuple[str, ...], value: str, name: str) -> None:
    for key in keys[:-1]:
        below = values.get(key)
        if below is None:
            below = values[key] = {}
        if not isinstance(below, dict):
            raise ConfigError(f"{key}: must hold keys and values (and {name} is set)")
        values = below
    values[keys[-1]] = value


def _explain(error: ValidationError, environ: Mapping[str, str], path: Path | None) -> str:
    first = error.errors(include_url=False)[0]
    keys = tuple(str(key) for key in first["loc"])
    variable = _variable(keys)
    key = f"{variable} ({'.'.join(keys)})" if variable in environ else ".".join(keys)
    where = f"{path}: " if path and variable not in environ else ""
    if first["type"] == "extra_forbidden":
        return f"{where}{key}: no such key"
    reason = first["msg"].removeprefix("Value error, ")
    secret = keys[-1] in ("api_key", "passphrase")
    shown = first["input"] if isinstance(first["input"], str | int | float) and not secret else None
    given = f" (it is {_without_secret(str(shown))!r})" if shown is not None else ""
    return f"{where}{key}: {reason[:1].lower()}{reason[1:]}{given}"


def _without_secret(value: str) -> str:
    """What stands before an @ may be a password, also where the rest is no URL."""
    if "://" in value and "[" not in value:
        return without_password(value)
    return value.rpartition("@")[2].partition("?")[0]


def _line_of(error: Exception) -> str:
    """Where a YAML file is wrong; the line itself may hold a secret."""
    mark = getattr(error, "problem_mark", None)
    return f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
