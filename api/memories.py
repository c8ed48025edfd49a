"""The routes of memories, /api/memories: what the agent may remember, and the review inbox."""

from flask import Blueprint, Response, request

from api.context import api, instance, json_body, permissions
from api.errors import document
from ragcore.documents import MEMORIES
from ragcore.errors import Invalid
from ragcore.memories import STATUSES, Memories, Memory
from ragcore.store import Document

blueprint = Blueprint("memories", __name__, url_prefix="/api/memories")


@blueprint.get("")
def all_() -> Response:
    """200, the memories of `?status=`, or all, the newest first."""
    memories = _memories()
    permissions().require("GET", MEMORIES)
    status = request.args.get("status", "")
    if status and status not in STATUSES:
        raise Invalid(f"status is one of {', '.join(STATUSES)}")
    found = memories.of_status(status) if status else memories.all()
    return document({"data": [_resource(memory) for memory in found], "meta": {"count": len(found)}}, 200)


@blueprint.post("/<memory_id>/approve")
def approve(memory_id: str) -> Response:
    """200, the active memory: the one that it has updated, where that says nearly the same."""
    return _shown(_permitted("POST", memory_id).approve(memory_id))


@blueprint.post("/<memory_id>/reject")
def reject(memory_id: str) -> Response:
    """200, the memory, which is used no more."""
    return _shown(_permitted("POST", memory_id).reject(memory_id))


@blueprint.patch("/<memory_id>")
def rewrite(memory_id: str) -> Response:
    """200, the memory with another `text`."""
    memories, body = _permitted("PATCH", memory_id), json_body()
    if not isinstance(body, dict):
        raise Invalid("the body must be an object")
    return _shown(memories.rewrite(memory_id, body.get("text")))


@blueprint.delete("/<memory_id>")
def delete(memory_id: str) -> Response:
    """204."""
    _permitted("DELETE", memory_id).delete(memory_id)
    return Response(status=204)


def _permitted(verb: str, memory_id: str) -> Memories:
    """Raises NotFound for an unknown host, InvalidToken, Forbidden."""
    memories = _memories()
    permissions().require(verb, MEMORIES, memory_id)
    return memories


def _memories() -> Memories:
    runtime = api().runtime
    return Memories(runtime.store, runtime.config, instance())


def _shown(memory: Memory) -> Response:
    return document({"data": _resource(memory)}, 200)


def _resource(memory: Memory) -> Document:
    resource = {"type": MEMORIES, "id": memory.id, "attributes": memory.attributes(), "meta": {"rev": memory.rev}}
    return resource | {"links": {"self": f"/api/memories/{memory.id}"}}
