"""What tests ask of the stand-in itself. No key is needed here."""

from flask import Blueprint, request
from flask.typing import ResponseReturnValue

from deploy.sandbox.context import json_object, sandbox
from deploy.sandbox.faults import parse_fault
from deploy.sandbox.scripts import parse_script

blueprint = Blueprint("control", __name__, url_prefix="/_sandbox")


@blueprint.post("/llm")
def add_script() -> ResponseReturnValue:
    sandbox().scripts.add(parse_script(json_object(request)))
    return "", 204


@blueprint.delete("/holds/<name>")
def release(name: str) -> ResponseReturnValue:
    sandbox().scripts.release(name)
    return "", 204


@blueprint.post("/faults")
def add_fault() -> ResponseReturnValue:
    sandbox().faults.add(parse_fault(json_object(request)))
    return "", 204


@blueprint.delete("/faults")
def clear() -> ResponseReturnValue:
    sandbox().faults.clear()
    sandbox().scripts.clear()
    return "", 204


@blueprint.get("/calls")
def list_calls() -> ResponseReturnValue:
    calls = sandbox().calls.matching(request.args.get("route", ""), request.args.get("method", ""))
    return {"calls": [call.to_json() for call in calls]}


@blueprint.delete("/calls")
def clear_calls() -> ResponseReturnValue:
    sandbox().calls.clear()
    return "", 204


@blueprint.get("/settings")
def get_settings() -> ResponseReturnValue:
    return sandbox().settings.to_json()


@blueprint.post("/settings")
def change_settings() -> ResponseReturnValue:
    sandbox().settings.update(json_object(request))
    sandbox().indexer.settings_changed()
    return sandbox().settings.to_json()
