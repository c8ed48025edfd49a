"""The Flask application: its parts, its errors, and what happens around every call."""

from pathlib import Path

from flask import Flask, Response, g, jsonify, request
from werkzeug.exceptions import HTTPException

from deploy.sandbox import (
    routes_chat,
    routes_control,
    routes_files,
    routes_partitions,
    routes_search,
    routes_workspaces,
)
from deploy.sandbox.calls import Calls, note_form
from deploy.sandbox.context import Sandbox, UploadRequest, sandbox
from deploy.sandbox.database import Database
from deploy.sandbox.errors import ApiError
from deploy.sandbox.faults import Fault, Faults
from deploy.sandbox.files import Files
from deploy.sandbox.indexer import Indexer
from deploy.sandbox.partitions import Partitions
from deploy.sandbox.retrieval import Retrieval
from deploy.sandbox.scripts import Scripts
from deploy.sandbox.settings import Llm, Settings
from deploy.sandbox.wire import ClientGone, Connection
from deploy.sandbox.workspaces import Workspaces

CONTROL = "/_sandbox/"
HEALTH = "/health_check"


def create_app(data: Path, api_key: str, llm: Llm | None, settings: Settings) -> Flask:
    """The server over the state in `data`. Its indexing threads start here: call it after a fork."""
    app = Flask(__name__)
    app.request_class = UploadRequest
    app.url_map.merge_slashes = False
    app.extensions["sandbox"] = _assemble(data, api_key, llm, settings)
    for routes in (
        routes_partitions,
        routes_files,
        routes_workspaces,
        routes_search,
        routes_chat,
        routes_control,
    ):
        app.register_blueprint(routes.blueprint)
    app.add_url_rule(HEALTH, view_func=lambda: "RAG API is up.", endpoint="health_check")
    app.before_request(_before)
    app.after_request(_after)
    app.register_error_handler(ApiError, _api_error)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(ClientGone, lambda _: Response(status=499))
    return app


def _assemble(data: Path, api_key: str, llm: Llm | None, settings: Settings) -> Sandbox:
    incoming, contents = data / "incoming", data / "contents"
    for folder in (incoming, contents):
        folder.mkdir(parents=True, exist_ok=True)
    for leftover in incoming.iterdir():
        leftover.unlink()
    database = Database(data / "sandbox.sqlite3")
    indexer = Indexer(database, settings, contents)
    indexer.start()
    return Sandbox(
        settings=settings,
        api_key=api_key,
        llm=llm,
        incoming=incoming,
        partitions=Partitions(database),
        files=Files(database, settings),
        workspaces=Workspaces(database, settings),
        retrieval=Retrieval(database),
        indexer=indexer,
        scripts=Scripts(),
        faults=Faults(),
        calls=Calls(),
    )


def _before() -> Response | None:
    if request.path.startswith(CONTROL):
        return None
    g.call = sandbox().calls.begin(request)
    fault = sandbox().faults.take(request.method, request.path)
    if fault is not None and fault.after:
        g.fault = fault
    elif fault is not None and (spoiled := _spoil(fault)) is not None:
        return spoiled
    if sandbox().settings.call_delay:
        Connection(request.environ).wait(sandbox().settings.call_delay)
    if request.path != HEALTH:
        _authenticate()
    return None


def _spoil(fault: Fault) -> Response | None:
    """What a fault does to a call; None where it only delayed it."""
    connection = Connection(request.environ)
    try:
        connection.wait(fault.delay)
    except ClientGone:
        g.call.closed_early = True
        raise
    if fault.cut:
        connection.cut()
        raise ClientGone
    return None if fault.status is None else fault.response()


def _authenticate() -> None:
    key = sandbox().api_key
    if key and request.headers.get("Authorization") != f"Bearer {key}":
        raise ApiError(401, "Missing or invalid token")


def _after(response: Response) -> Response:
    if "call" not in g:
        return response
    if request.mimetype == "multipart/form-data" and response.status_code != 499:
        note_form(g.call, request)
    fault: Fault | None = g.pop("fault", None)
    if fault is not None:
        response = _spoil_after(fault, response)
    g.call.status = None if response.status_code == 499 else response.status_code
    return response


def _spoil_after(fault: Fault, response: Response) -> Response:
    try:
        return _spoil(fault) or response
    except ClientGone:
        return Response(status=499)


def _api_error(error: ApiError) -> tuple[Response, int]:
    return jsonify(error.body()), error.status


def _http_error(error: HTTPException) -> tuple[Response, int] | HTTPException:
    """FastAPI's words for an unknown route or method; Flask's redirects stay what they are."""
    if error.code is None or error.code < 400:
        return error
    return jsonify({"detail": error.name}), error.code
