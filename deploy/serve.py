"""The WSGI application of `ragcore serve` (`gunicorn deploy.serve:application`)."""

from api.app import create_app
from ragcore import config
from ragcore.runtime import Runtime
from tasks.app import app
from tasks.base import CeleryQueue

application = create_app(Runtime(config.load()), CeleryQueue(app))
