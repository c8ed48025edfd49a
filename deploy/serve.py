"""The WSGI application of `ragcore serve` (`gunicorn deploy.serve:application`), on both of its ports."""

from collections.abc import Iterable
from typing import Any

from api import admin
from api.app import create_app
from ragcore import config
from ragcore.runtime import Runtime
from tasks.app import app
from tasks.base import CeleryQueue
from tasks.starting import start

runtime, queue = Runtime(config.load()), CeleryQueue(app)
public, operators = create_app(runtime, queue), admin.create_app(runtime, queue)
start(runtime, queue)


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """The port that a connection came in by says which API it may use."""
    by_admin_port = environ["SERVER_PORT"] == str(runtime.config.admin.port)
    return (operators if by_admin_port else public)(environ, start_response)
