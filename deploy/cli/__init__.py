"""The `ragcore` command. Each of its groups is a module here."""

import logging
import sys
from typing import Any

import click

from deploy.cli.ask import ask
from deploy.cli.assistants import assistants
from deploy.cli.check import check
from deploy.cli.context import Context
from deploy.cli.files import files
from deploy.cli.instances import features, instances
from deploy.cli.keys import keys
from deploy.cli.processes import beat, serve, watch, worker
from deploy.cli.rag import rag
from deploy.cli.triggers import triggers
from ragcore.errors import RagcoreError


class _Group(click.Group):
    """An error that is fit for people is one line on stderr, and the exit code 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except RagcoreError as error:
            click.echo(f"ragcore: {error}", err=True)
            sys.exit(1)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ragcore")
@click.pass_context
def main(ctx: click.Context) -> None:
    """The AI layer of a personal cloud: chat with an assistant over your own files.

    The configuration is the file that RAGCORE_CONFIG names, else ragcore.yaml here, else
    /etc/ragcore/ragcore.yaml; each key is also an environment variable (RAGCORE_REDIS_URL).
    """
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    ctx.obj = Context()


for command in (serve, worker, watch, beat, check, instances, features, keys, assistants, files, ask, rag, triggers):
    main.add_command(command)
