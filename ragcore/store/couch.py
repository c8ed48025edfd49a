"""pycouchdb 1.17, mended in one place.

What it does wrong, and what this module does instead:

- it sends database names holding `/` and ids holding `/`, `?` or `#` as they are: each segment is quoted;
- it takes an answer that is not JSON (a proxy's 502 page) for success: `Retryable`;
- its changes list drops `pending`: `Database.changes` gives CouchDB's answer whole;
- it does not verify TLS unless told to, and opens a connection a thread: one session of kept connections that verifies;
- it logs a line for each request, and raises requests' own exceptions: ours carry what a caller decides on.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast
from urllib.parse import quote, urlencode

import pycouchdb.client
import pycouchdb.exceptions
import pycouchdb.resource
from requests.auth import _basic_auth_str

from ragcore.errors import Conflict, NotFound, RagcoreError, Retryable, Unanswered, retry_after
from ragcore.wire import Answer, Session, Timeouts

TIMEOUT: Timeouts = (5.0, 30.0)  # seconds: to connect, and between two bytes of an answer
CONNECTIONS = 1000  # as many as a full pool of query workers

REFUSED = (429, 503)  # not done; CouchDB's 500, as a proxy's 502 and 504, may mean that it only took too long
NO_DATABASE = ("Database does not exist.", "no_db_file")

Json = dict[str, Any]
T = TypeVar("T")


class NoDatabase(NotFound):
    """No document of this doctype was ever written."""


class BadRequest(RagcoreError):
    """The database took the request for malformed."""


class Rejected(RagcoreError):
    """A query that the database does not take; `error` is its own name for why."""

    def __init__(self, error: str, reason: str) -> None:
        super().__init__(reason)
        self.error = error


class Resource(pycouchdb.resource.Resource):
    """A URL of the server; `resource("a/b")` is one segment below, quoted."""

    session: Session  # type: ignore[assignment]
    timeout: Timeouts  # type: ignore[assignment]

    def __init__(self, base_url: str, session: Session, timeout: Timeouts = TIMEOUT) -> None:
        self.base_url, self.session, self.timeout = base_url, session, timeout

    def __call__(self, *path: str) -> "Resource":
        return Resource(self._below(path), self.session, self.timeout)

    def _below(self, path: Sequence[str]) -> str:
        return "/".join([self.base_url.rstrip("/"), *map(_segment, path)]) if path else self.base_url

    def _request_response(  # type: ignore[override]
        self,
        method: str,
        path: str | list[str] | None = None,
        params: Any = None,
        data: Any = None,
        headers: dict[str, str] | None = None,
        stream: bool = False,
        **kwargs: Any,
    ) -> tuple[Answer, Any]:
        url = self._below([path] if isinstance(path, str) else path or [])
        url += f"?{urlencode(params)}" if params else ""
        try:
            response = self.session.request(method, url, data=data, timeout=self.timeout)
        except OSError as error:
            was_sent = not isinstance(error, ConnectionRefusedError)
            told = f"the document database does not answer ({type(error).__name__})"
            raise _failed(method, was_sent, told) from error
        return response, _parse(method, response)


def _segment(name: str) -> str:
    if name in ("", ".", ".."):
        raise NotFound(f"{name!r} is no id")  # steps of a path: another resource would answer
    for special in ("_local/", "_design/"):
        if name.startswith(special):
            return special + quote(name.removeprefix(special), safe="/" if special == "_design/" else "")
    return quote(name, safe="")


def _failed(method: str, may_be_done: bool, told: str, wait: str | None = None) -> Retryable:
    """A GET changes nothing, whatever became of it."""
    kind = Unanswered if may_be_done and method != "GET" else Retryable
    return kind(told, retry_after(wait))


def _parse(method: str, response: Answer) -> Any:
    """The JSON of an answer. Raises Retryable for what is worth another try, and for what is not JSON."""
    if response.status_code == 429 or response.status_code >= 500:
        told = f"the document database answered {response.status_code}"
        raise _failed(method, response.status_code not in REFUSED, told, response.headers.get("retry-after"))
    if method == "HEAD":
        return {"error": "not_found"} if response.status_code == 404 else {}
    try:
        body = json.loads(response.content)
    except (ValueError, RecursionError):
        raise Retryable(f"the document database answered {response.status_code}, and not in JSON") from None
    if response.status_code == 404 and not (isinstance(body, dict) and body.get("error") == "not_found"):
        raise Retryable("something else than the document database answered 404")  # unknown is not empty
    if response.status_code == 404 and body.get("reason") in NO_DATABASE:
        raise NoDatabase("there is no such database yet")
    return body


class Database(pycouchdb.client.Database):
    """One database. Raises NotFound, Conflict, Retryable, RagcoreError."""

    def changes(self, since: Any, limit: int, **more: Any) -> Json:
        """One page of `_changes` with documents: `results`, `last_seq` and, from CouchDB, `pending`."""
        params = {"since": since, "limit": limit, "include_docs": "true", **more}
        return cast(Json, self.resource.get("_changes", params=params)[1])

    def next_changes(self, since: Any, limit: int, wait: float) -> Json:
        """The same, once there are any, or after so many seconds."""
        resource = cast(Resource, self.resource())
        resource.timeout = (TIMEOUT[0], wait + TIMEOUT[1])
        waiting = Database(resource, self.name)
        return waiting.changes(since, limit, feed="longpoll", timeout=int(wait * 1000))

    def remove(self, doc: Json) -> str:
        """DELETE: the revision that says so."""
        response, result = self.resource(doc["_id"])._request_response("DELETE", None, params={"rev": doc["_rev"]})
        if response.status_code >= 400:
            self.resource._check_result(response, result)
        return str(cast(Json, result)["rev"])

    def post(self, route: str, body: Json, **params: str) -> Any:
        """POST of a JSON body on `_find`, `_index`, `_bulk_docs` or `_all_docs`: the answer as it is.

        (A row of `_bulk_docs` that is in conflict is the caller's to see; pycouchdb raises at the first.)
        """
        data = json.dumps(body).encode()
        response, result = self.resource._request_response("POST", route, params=params, data=data)
        if response.status_code >= 400:
            self.resource._check_result(response, result)
        return result

    def ask(self, method: str, route: str, body: Json | None = None, **params: str) -> Json:
        """The answer to a query that a client has made. Raises Rejected with what the database says of it."""
        data = json.dumps(body).encode() if body is not None else None
        response, result = self.resource._request_response(method, route, params=params, data=data)
        if response.status_code == 400 and isinstance(result, dict):
            raise Rejected(str(result.get("error")), str(result.get("reason") or result.get("message")))
        if response.status_code >= 400:
            self.resource._check_result(response, result)
        return cast(Json, result)

    def view(self, design: str, name: str, keys: Sequence[str]) -> list[Json]:
        """The documents that a view gives for some keys, in the order of the keys."""
        data = json.dumps({"keys": list(keys)}).encode()  # in the body: many do not fit into a URL
        result: Any = self.resource("_design", design, "_view", name).post(data=data, params={"include_docs": "true"})[
            1
        ]
        return [row["doc"] for row in result["rows"]]

    def counts(self, design: str, name: str, limit: int) -> list[tuple[Any, int]]:
        """The first keys of a view that counts, and how often each is there."""
        params = {"group": "true", "limit": limit}
        result: Any = self.resource("_design", design, "_view", name).get(params=params)[1]
        return [(row["key"], row["value"]) for row in result["rows"]]


class Server:
    """The server at `url`, which may hold a user name and a password."""

    def __init__(self, url: str) -> None:
        base, credentials = pycouchdb.utils.extract_credentials(url)
        lines = {"Accept": "application/json", "Content-Type": "application/json"}
        if credentials:
            lines["Authorization"] = _basic_auth_str(*credentials)
        self.resource = Resource(f"{base.rstrip('/')}/", Session(base, lines, CONNECTIONS))

    def info(self) -> Json:
        return translate(lambda: cast(Json, self.resource.get()[1]))

    def databases(self) -> list[str]:
        """The names of all databases."""
        return translate(lambda: cast(list[str], self.resource.get("_all_dbs")[1]))

    def updates(self, since: Any, heartbeat: float = 0.0) -> Json:
        """Which databases changed (`_db_updates`), once there are any; without a heartbeat, at once.

        Raises NotFound where the server has no such feed.
        """
        resource = self.resource("_db_updates")
        params: Json = {"since": since}
        if heartbeat:
            resource.timeout = (TIMEOUT[0], heartbeat * 3)
            params |= {"feed": "longpoll", "heartbeat": int(heartbeat * 1000)}
        return translate(lambda: cast(Json, resource.get(params=params)[1]))

    def database(self, name: str) -> Database:
        return Database(self.resource(name), name)

    def create(self, name: str) -> None:
        """Makes a database; one that is there already is fine."""
        try:
            translate(lambda: self.resource(name).put())
        except Conflict:
            return


def translate(call: Callable[[], T]) -> T:
    """Runs a call of pycouchdb, its exceptions turned into ours."""
    try:
        return call()
    except pycouchdb.exceptions.NotFound as error:
        raise NotFound(str(error)) from error
    except pycouchdb.exceptions.Conflict as error:
        raise Conflict(str(error)) from error
    except pycouchdb.exceptions.BadRequest as error:
        raise BadRequest("the document database took the request for malformed") from error
    except pycouchdb.exceptions.Error as error:
        raise RagcoreError(f"the document database refused the request ({type(error).__name__})") from error
