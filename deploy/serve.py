"""The WSGI application of `ragcore serve` (`gunicorn deploy.serve:application`)."""

from api.app import create_app
from ragcore import config
from ragcore.runtime import Runtime
from ragcore.work import Sweeper, Work
from tasks.app import app
from tasks.base import CeleryQueue

runtime, queue = Runtime(config.load()), CeleryQueue(app)
application = create_app(runtime, queue)
Sweeper(Work(runtime, queue)).start()
