"""The operators' API, on the admin port: POST /instances/:domain/rag/{reset,reconcile,prune,purge}.

With a passphrase: Basic authentication, whatever the user name. Without one: from the loopback only.
"""

import hmac
from dataclasses import asdict
from typing import Any

from flask import Blueprint, Flask, Response, jsonify, request
from werkzeug.datastructures import WWWAuthenticate
from werkzeug.exceptions import Unauthorized

from api import errors
from api.context import API, api
from api.proxies import TrustedProxies, is_loopback
from ragcore.indexing import operate
from ragcore.jobs import Queue
from ragcore.permissions import Forbidden
from ragcore.runtime import Runtime
from ragcore.work import Work

WAIT = 10.0  # seconds for an operation's counts
BASIC = WWWAuthenticate("basic", {"realm": "ragcore"})

blueprint = Blueprint("rag", __name__, url_prefix="/instances/<domain>/rag")


def create_app(runtime: Runtime, queue: Queue) -> Flask:
    app = Flask("api.admin", static_folder=None)
    app.extensions["ragcore"] = API(runtime, queue)
    errors.init_app(app)
    app.before_request(_authenticate)
    app.register_blueprint(blueprint)
    app.wsgi_app = TrustedProxies(app.wsgi_app, runtime.config.trusted_proxies)
    return app


def _authenticate() -> None:
    """Raises Unauthorized, Forbidden."""
    if "Origin" in request.headers:
        raise Forbidden("this API is not for web pages")
    passphrase = api().runtime.config.admin.passphrase.get_secret_value()
    given = request.authorization
    if passphrase:
        password = (given.password if given and given.type == "basic" else None) or ""
        if not hmac.compare_digest(password.encode(), passphrase.encode()):
            raise Unauthorized("the passphrase is missing or wrong", www_authenticate=BASIC)
    elif not is_loopback(request.remote_addr):
        raise Forbidden("without a passphrase (admin.passphrase), this API answers on the loopback only")


@blueprint.post("/reset")
def reset(domain: str) -> Response:
    """202, the ids of the jobs."""
    return _jobs(operate.reset(_work(), domain))


@blueprint.post("/reconcile")
def reconcile(domain: str) -> Response:
    """202, the ids of the jobs. `?dir_id=` names one knowledge base folder."""
    return _jobs(operate.reconcile(_work(), domain, request.args.get("dir_id", "")))


@blueprint.post("/prune")
def prune(domain: str) -> Response:
    """200, what was counted; 202, the id of a job that takes longer; 502 when openRAG failed."""
    return _counts(domain, operate.prune(_work(), domain))


@blueprint.post("/purge")
def purge(domain: str) -> Response:
    """As for prune."""
    return _counts(domain, operate.purge(_work(), domain))


def _counts(domain: str, job_id: str) -> Response:
    counts = operate.wait_for(_work(), domain, job_id, WAIT)
    return _answer(asdict(counts), 200) if counts else _jobs([job_id])


def _jobs(ids: list[str]) -> Response:
    return _answer({"jobs": ids}, 202)


def _answer(body: dict[str, Any], status: int) -> Response:
    response = jsonify(body)
    response.status_code = status
    return response


def _work() -> Work:
    return Work(api().runtime, api().queue)
