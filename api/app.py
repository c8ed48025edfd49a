"""The app factory."""

from flask import Flask
from werkzeug.routing import PathConverter

from api import (
    agent,
    ai,
    data,
    errors,
    files,
    jobs,
    memories,
    openapi,
    page,
    proxy,
    rag,
    realtime,
    status,
    triggers,
    usage,
    v1,
)
from api.context import API
from api.proxies import TrustedProxies
from ragcore.jobs import Queue
from ragcore.runtime import Runtime


class AnyPath(PathConverter):
    """Werkzeug's own stops at a line break, which an id of a document may hold."""

    regex = r"[^/][\s\S]*?"


def create_app(runtime: Runtime, queue: Queue) -> Flask:
    app = Flask("api", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = runtime.config.limits.body or None
    app.url_map.converters["path"] = AnyPath
    app.extensions["ragcore"] = API(runtime, queue)
    errors.init_app(app)
    app.register_blueprint(agent.blueprint)
    app.register_blueprint(ai.blueprint)
    app.register_blueprint(data.blueprint)
    app.register_blueprint(files.blueprint)
    app.register_blueprint(jobs.blueprint)
    app.register_blueprint(memories.blueprint)
    app.register_blueprint(openapi.blueprint)
    app.register_blueprint(proxy.blueprint)
    app.register_blueprint(rag.blueprint)
    app.register_blueprint(status.blueprint)
    app.register_blueprint(triggers.blueprint)
    app.register_blueprint(usage.blueprint)
    app.register_blueprint(v1.blueprint)
    page.init_app(app)
    realtime.init_app(app)
    app.wsgi_app = TrustedProxies(app.wsgi_app, runtime.config.trusted_proxies)
    return app
