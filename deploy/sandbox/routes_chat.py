"""Chat completions and the tools route."""

import json
from typing import Any

from flask import Blueprint, Response, request
from flask.typing import ResponseReturnValue

from deploy.sandbox import chat
from deploy.sandbox.chat import Chat
from deploy.sandbox.completions import Head, Stream, join
from deploy.sandbox.context import sandbox, this_call
from deploy.sandbox.errors import ApiError, Invalid
from deploy.sandbox.extract import Unreadable, format_of, pages_of
from deploy.sandbox.retrieval import Passage
from deploy.sandbox.routes_files import received_file
from deploy.sandbox.routes_partitions import link_to_file
from deploy.sandbox.routes_search import link_to, metadata_of
from deploy.sandbox.wire import Connection

blueprint = Blueprint("chat", __name__, url_prefix="/v1")

SOURCE_FIELDS = (
    "file_id",
    "filename",
    "page",
    "doctype",
    "datetime",
    "email.subject",
    "email.preview",
    "relationship_id",
    "parent_id",
)


@blueprint.post("/chat/completions")
def complete() -> ResponseReturnValue:
    box = sandbox()
    asked = chat.parse(request.get_json(force=True, silent=True), box.settings)
    _check_scope(asked)
    passages = chat.retrieve(asked, box.retrieval)
    script = box.scripts.take(asked.question)
    scripted = script.sources if script else None
    sources = [_source(passage) for passage in passages] if scripted is None else scripted
    head = Head(asked.model, sources, box.settings.legacy)
    pieces = chat.answer(asked, passages, script, box.llm, box.settings.word_delay)
    connection = Connection(request.environ)
    if not asked.stream:
        return join(head, connection, pieces)
    stream = Stream(head, connection, this_call())
    return Response(stream.events(pieces), mimetype="text/event-stream", headers={"Cache-Control": "no-cache"})


@blueprint.post("/tools/execute")
def execute() -> ResponseReturnValue:
    tool, metadata = _form_object("tool"), _form_object("metadata")
    if tool.get("name") != "extractText":
        raise ApiError(400, f"Unknown tool: {tool.get('name')}")
    file = request.files.get("file")
    if file is None:
        raise ApiError(400, "The form has no file")
    name = str(file.filename or metadata.get("name") or "")
    extension = format_of(name, metadata.get("mimetype") or metadata.get("mime") or file.mimetype)
    try:
        pages = pages_of(received_file(file), extension)
    except Unreadable as error:
        raise ApiError(500, f"The file cannot be read: {error}") from error
    return {"message": "\n\n".join(page.text for page in pages)}


def _check_scope(asked: Chat) -> None:
    if asked.scope is None:
        return
    sandbox().partitions.require(asked.scope.partition)
    if asked.scope.workspace is not None:
        sandbox().workspaces.get(asked.scope.partition, asked.scope.workspace)


def _source(passage: Passage) -> dict[str, Any]:
    """A document source: its fields under `chunk`, beside the others on a legacy server."""
    metadata = metadata_of(passage)
    chunk = {name: metadata.get(name) for name in SOURCE_FIELDS}
    return {
        "source_type": "document",
        **(chunk if sandbox().settings.legacy else {"chunk": chunk}),
        "chunk_url": link_to(passage),
        "file_url": link_to_file(passage.partition, passage.file_id),
        "rerank_score": passage.similarity,
    }


def _form_object(name: str) -> dict[str, Any]:
    try:
        value = json.loads(request.form.get(name) or "{}")
    except ValueError as error:
        raise Invalid(("body", name), f"Invalid JSON: {error}", "json_invalid") from error
    if not isinstance(value, dict):
        raise Invalid(("body", name), "Input should be a JSON object")
    return value
