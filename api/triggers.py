"""The routes of triggers, /jobs/triggers (`contracts/cozy.md`, Jobs and triggers)."""

from typing import Any

from flask import Blueprint, Response, request

from api.context import api, instance, json_body, permissions
from api.errors import document
from api.jobs import shown as shown_job
from ragcore.errors import Invalid, NotFound, Unprocessable
from ragcore.job_documents import JobDocuments
from ragcore.permissions import Forbidden
from ragcore.store import Document
from ragcore.triggers.documents import DOCTYPE, SHOWN, Trigger, Triggers
from ragcore.triggers.due import DueTimes
from ragcore.triggers.launching import launch as launch_trigger
from ragcore.triggers.requests import ATTRIBUTES, new_trigger
from ragcore.work import Work

blueprint = Blueprint("triggers", __name__, url_prefix="/jobs/triggers")
STATE = f"{DOCTYPE}.state"


@blueprint.post("")
def create() -> Response:
    """201, the trigger. 422 for a value that cannot be used."""
    rights = permissions()
    attributes = _attributes(json_body())
    worker = attributes.get("worker")
    if not rights.allow("POST", DOCTYPE, worker if isinstance(worker, str) else "", "worker"):
        rights.require("POST", DOCTYPE)
    return document({"data": _shown(_triggers().create(new_trigger(attributes)))}, 201)


@blueprint.get("")
def all_() -> Response:
    """200, the triggers, the oldest first: all, or those of `?Worker=` and `?Type=`."""
    worker, type_ = request.args.get("Worker", ""), request.args.get("Type", "")
    rights = permissions()
    if not (worker and rights.allow("GET", DOCTYPE, worker, "worker")):
        rights.require("GET", DOCTYPE)
    found = [t for t in _triggers().all() if t.worker == (worker or t.worker) and t.type == (type_ or t.type)]
    return document({"data": [_shown(trigger) for trigger in found], "meta": {"count": len(found)}}, 200)


@blueprint.get("/<trigger_id>")
def one(trigger_id: str) -> Response:
    """200, the trigger with its state."""
    return document({"data": _shown(_permitted("GET", trigger_id))}, 200)


@blueprint.get("/<trigger_id>/state")
def state(trigger_id: str) -> Response:
    """200, the state alone."""
    trigger = _permitted("GET", trigger_id)
    links = {"self": f"/jobs/triggers/{trigger.id}/state"}
    state = {"type": STATE, "id": trigger.id, "attributes": _triggers().state(trigger.id), "links": links}
    return document({"data": state}, 200)


@blueprint.get("/<trigger_id>/jobs")
def jobs(trigger_id: str) -> Response:
    """200, its jobs, the newest first, `?Limit=` of them."""
    trigger = _permitted("GET", trigger_id)
    found = _triggers().jobs(trigger.id, _limit(request.args.get("Limit", "")))
    return document({"data": [shown_job(doc) for doc in found], "meta": {"count": len(found)}}, 200)


@blueprint.post("/<trigger_id>/launch")
def launch(trigger_id: str) -> Response:
    """201, the job."""
    trigger = _permitted("POST", trigger_id)
    job_id = launch_trigger(Work(api().runtime, api().queue), instance(), trigger, manual=True)
    return document({"data": shown_job(JobDocuments(api().runtime.store, instance()).get(job_id))}, 201)


@blueprint.delete("/<trigger_id>")
def delete(trigger_id: str) -> Response:
    """204."""
    _triggers().delete(_permitted("DELETE", trigger_id))
    return Response(status=204)


def _triggers() -> Triggers:
    runtime = api().runtime
    return Triggers(runtime.store, instance(), DueTimes(runtime.redis))


def _permitted(verb: str, trigger_id: str) -> Trigger:
    """The trigger, with the right for all, for this one, or for those of its worker. Raises NotFound, Forbidden."""
    rights = permissions()
    try:
        trigger = _triggers().get(trigger_id)
    except NotFound:  # which is told to those alone who may know
        rights.require(verb, DOCTYPE, trigger_id)
        raise
    if not (rights.allow(verb, DOCTYPE, trigger.id) or rights.allow(verb, DOCTYPE, trigger.worker, "worker")):
        raise Forbidden(f"the token has no permission to {verb} this trigger")
    return trigger


def _attributes(body: Any) -> Document:
    try:
        attributes = body["data"]["attributes"]
    except (KeyError, TypeError):
        attributes = None
    if not isinstance(attributes, dict):
        raise Unprocessable(
            'a trigger is {"data": {"attributes": {"type", "arguments", "worker", "message"}}}', ATTRIBUTES
        )
    return attributes


def _limit(text: str) -> int:
    if not text:
        return SHOWN
    if not text.isdecimal() or not text.isascii() or len(text) > 9:
        raise Invalid("Limit is a number")
    return min(int(text) or SHOWN, SHOWN)


def _shown(trigger: Trigger) -> Document:
    attributes = trigger.attributes(instance().domain) | {
        "current_state": _triggers().state(trigger.id),
        "cozyMetadata": {"createdAt": trigger.created_at},
    }
    links = {"self": f"/jobs/triggers/{trigger.id}"}
    return {"type": DOCTYPE, "id": trigger.id, "attributes": attributes, "meta": {"rev": trigger.rev}, "links": links}
