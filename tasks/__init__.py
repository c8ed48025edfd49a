"""The Celery tasks, one thin module a queue: each is one call into ragcore. `celery -A tasks ...` works."""

from tasks.app import app

__all__ = ["app"]
