"""Search and the passages behind its links."""

from typing import Any

from flask import Blueprint, request
from flask.typing import ResponseReturnValue

from deploy.sandbox.context import sandbox
from deploy.sandbox.errors import Invalid
from deploy.sandbox.retrieval import Passage, Scope
from deploy.sandbox.routes_partitions import count

blueprint = Blueprint("search", __name__)

TOP_K = 5


@blueprint.get("/search/partition/<partition>")
def search(partition: str) -> ResponseReturnValue:
    sandbox().partitions.require(partition)
    workspace = request.args.get("workspace") or None
    if workspace is not None:
        sandbox().workspaces.get(partition, workspace)
    return _documents(Scope(partition, workspace))


@blueprint.get("/search/partition/<partition>/file/<file_id>")
def search_file(partition: str, file_id: str) -> ResponseReturnValue:
    sandbox().partitions.require(partition)
    sandbox().files.get(partition, file_id)
    return _documents(Scope(partition, file_ids=(file_id,)))


@blueprint.get("/extract/<chunk_id>")
def extract(chunk_id: str) -> ResponseReturnValue:
    passage = sandbox().retrieval.passage(chunk_id)
    return {"page_content": passage.content, "metadata": metadata_of(passage)}


def metadata_of(passage: Passage) -> dict[str, Any]:
    return {
        **passage.metadata,
        "file_id": passage.file_id,
        "filename": passage.filename,
        "partition": passage.partition,
        "page": passage.page,
    }


def link_to(passage: Passage) -> str:
    return f"{request.host_url}extract/{passage.chunk_id}"


def _documents(scope: Scope) -> ResponseReturnValue:
    text = request.args.get("text")
    if text is None:
        raise Invalid(("query", "text"), "Field required", "missing")
    found = sandbox().retrieval.search(text, scope, count("top_k", TOP_K) or TOP_K, _threshold())
    return {
        "documents": [
            {"link": link_to(passage), "metadata": metadata_of(passage), "content": passage.content}
            for passage in found
        ]
    }


def _threshold() -> float:
    """The least similarity. The measure is the stand-in's own: see `Passage`."""
    value = request.args.get("similarity_threshold", "0")
    try:
        return float(value)
    except ValueError as error:
        raise Invalid(("query", "similarity_threshold"), "Input should be a valid number", "float_parsing") from error
