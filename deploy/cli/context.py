"""What commands work with, made when a command needs it."""

import json
from functools import cached_property
from typing import Any

import click

from ragcore import config
from ragcore.config import Config
from ragcore.instances import Instance
from ragcore.jobs import Queue
from ragcore.runtime import Runtime
from ragcore.work import Work


class Context:
    @cached_property
    def config(self) -> Config:
        return config.load()

    @cached_property
    def runtime(self) -> Runtime:
        return Runtime(self.config)

    @cached_property
    def queue(self) -> Queue:
        # Celery takes a while to import: only for who enqueues
        from tasks.app import app
        from tasks.base import CeleryQueue

        return CeleryQueue(app)

    @property
    def work(self) -> Work:
        return Work(self.runtime, self.queue)

    def instance(self, domain: str) -> Instance:
        return self.runtime.instances.get(domain)


pass_context = click.make_pass_decorator(Context)
domain_option = click.option("--domain", required=True, help="The domain of the instance.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def print_json(data: Any) -> None:
    click.echo(json.dumps(data, ensure_ascii=False, indent=2))
