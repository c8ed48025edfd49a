"""The routes of jobs: GET /jobs/:id, GET and POST /jobs/queue/:worker (`contracts/cozy.md`, Jobs and triggers)."""

from typing import Any

from flask import Blueprint, Response

from api.context import api, instance, json_body, permissions
from api.errors import document
from ragcore.documents import FILES
from ragcore.errors import Invalid, NotFound
from ragcore.job_documents import DOCTYPE, WORKER, JobDocuments
from ragcore.permissions import Forbidden
from ragcore.store import Document
from ragcore.work import Work

blueprint = Blueprint("jobs", __name__, url_prefix="/jobs")
RESERVED = ("rag-query",)  # no client may push it


@blueprint.get("/<job_id>")
def job(job_id: str) -> Response:
    """200, the job."""
    documents = _documents()
    permissions().require("GET", DOCTYPE, job_id)
    return document({"data": _shown(documents.get(job_id))}, 200)


@blueprint.get("/queue/<worker>")
def queue(worker: str) -> Response:
    """200, the jobs of a worker that wait or run, oldest first."""
    documents = _documents()
    _require("GET", worker)
    return document({"data": [_shown(doc) for doc in documents.unfinished(worker)]}, 200)


@blueprint.post("/queue/<worker>")
def push(worker: str) -> Response:
    """202, the job. Its arguments are a message of the worker."""
    documents = _documents()
    _require("POST", worker)
    if worker in RESERVED:
        raise Forbidden(f"{worker} is reserved")
    if worker != WORKER:
        raise NotFound(f"there is no worker {worker}")
    dir_id = _folder(json_body())
    work, domain = Work(api().runtime, api().queue), instance().domain
    job_id = work.walk(domain, dir_id) if dir_id else work.feed(domain)
    return document({"data": _shown(documents.get(job_id))}, 202)


def _documents() -> JobDocuments:
    return JobDocuments(api().runtime.store, instance())


def _require(verb: str, worker: str) -> None:
    """The right for all jobs, or for those of the worker. Raises Forbidden."""
    rights = permissions()
    if not rights.allow(verb, DOCTYPE, worker, "worker"):
        rights.require(verb, DOCTYPE)


def _folder(body: Any) -> str:
    """The folder to walk; empty for a message that reads the feed. Raises Invalid."""
    pointer = "/data/attributes/arguments"
    try:
        message = body["data"]["attributes"]["arguments"]
        doctype, dir_id = message["doctype"], message.get("reconcile_dir_id") or ""
    except (KeyError, TypeError, AttributeError):
        raise Invalid('the arguments of a job are {"doctype": "io.cozy.files"}', pointer) from None
    if doctype != FILES or not isinstance(dir_id, str):
        raise Invalid("only io.cozy.files are indexed", f"{pointer}/doctype")
    return dir_id


def _shown(doc: Document) -> Document:
    attributes = {key: value for key, value in doc.items() if not key.startswith("_") and key != "message"}
    return {"type": DOCTYPE, "id": doc["_id"], "attributes": attributes | {"arguments": doc.get("message")}}
