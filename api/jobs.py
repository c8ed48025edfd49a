"""The routes of jobs: GET /jobs/:id, GET and POST /jobs/queue/:worker (`contracts/cozy.md`, Jobs and triggers)."""

from typing import Any

from flask import Blueprint, Response

from api.context import api, instance, json_body, permissions
from api.errors import document
from ragcore.job_documents import DOCTYPE, JobDocuments, job_of, require_worker
from ragcore.jobs import FeedJob, WalkJob
from ragcore.store import Document
from ragcore.work import Work

blueprint = Blueprint("jobs", __name__, url_prefix="/jobs")


@blueprint.get("/<job_id>")
def job(job_id: str) -> Response:
    """200, the job."""
    documents = _documents()
    permissions().require("GET", DOCTYPE, job_id)
    return document({"data": shown(documents.get(job_id))}, 200)


@blueprint.get("/queue/<worker>")
def queue(worker: str) -> Response:
    """200, the jobs of a worker that wait or run, oldest first."""
    documents = _documents()
    _require("GET", worker)
    return document({"data": [shown(doc) for doc in documents.unfinished(worker)]}, 200)


@blueprint.post("/queue/<worker>")
def push(worker: str) -> Response:
    """202, the job. Its arguments are a message of the worker."""
    documents = _documents()
    _require("POST", worker)
    require_worker(worker)
    job_id = Work(api().runtime, api().queue).launch(_job(json_body()))
    return document({"data": shown(documents.get(job_id))}, 202)


def _documents() -> JobDocuments:
    return JobDocuments(api().runtime.store, instance())


def _require(verb: str, worker: str) -> None:
    """The right for all jobs, or for those of the worker. Raises Forbidden."""
    rights = permissions()
    if not rights.allow(verb, DOCTYPE, worker, "worker"):
        rights.require(verb, DOCTYPE)


def _job(body: Any) -> FeedJob | WalkJob:
    """Raises Invalid."""
    try:
        message = body["data"]["attributes"]["arguments"]
    except (KeyError, TypeError):
        message = None
    return job_of(instance().domain, message, "/data/attributes/arguments")


def shown(doc: Document) -> Document:
    """A job as JSON:API has it."""
    attributes = {key: value for key, value in doc.items() if not key.startswith("_") and key != "message"}
    attributes["arguments"] = doc.get("message")
    return {"type": DOCTYPE, "id": doc["_id"], "attributes": attributes, "links": {"self": f"/jobs/{doc['_id']}"}}
