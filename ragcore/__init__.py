"""The AI layer of a personal cloud: everything that can be said without Flask and Celery."""
