"""`make demo`: from nothing to two answers about a folder, with the commands that a person would type."""

import shlex
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import click

from deploy.cli.client import SCOPE, page_link
from deploy.local.control import PUBLIC_PORT
from deploy.local.errors import StackError
from deploy.local.layout import CHECKOUT, RAGCORE
from deploy.local.stack import Stack
from ragcore import config
from ragcore.documents import ASSISTANTS, STATUSES, Assistant
from ragcore.errors import NotFound
from ragcore.files.tree import Tree
from ragcore.instances import Instance
from ragcore.permissions import create_token
from ragcore.runtime import Runtime

DOMAIN = "alice.localhost"
SAMPLE = Path("deploy/local/sample")
FOLDER = "/Documents"
ASSISTANT = "My papers"
INDEXED_WITHIN = 120.0  # seconds
QUESTIONS = (
    "What is the emergency shut-off procedure of the boiler?",
    "How much does the club membership cost?",
)


def main(data: Path) -> None:
    """Stays up until Ctrl-C in a terminal, and ends without one."""
    click.echo(
        "Starting Redis, the document database, the stand-in openRAG, the API, the workers and the scheduler ..."
    )
    with Stack(data, port=PUBLIC_PORT) as stack:
        Demo(stack).run()
        if sys.stdin.isatty():
            click.echo("\nIt stays up until you press Ctrl-C.")
            with suppress(KeyboardInterrupt):
                stack.wait()


class Demo:
    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.runtime = Runtime(config.load(path=stack.config_path))

    def run(self) -> None:
        instance = self._instance()
        self._ragcore("files", "import", "--domain", DOMAIN, str(SAMPLE), "--to", FOLDER)
        assistant = self._assistant(instance)
        self._wait_until_answerable(instance)
        for question in QUESTIONS:
            self._ragcore("ask", "--domain", DOMAIN, "--assistant", assistant.id, question)
        self._say_what_next(instance, assistant)

    def _instance(self) -> Instance:
        try:
            self.runtime.instances.get(DOMAIN)
        except NotFound:
            self._ragcore("instances", "add", DOMAIN)
        return self.runtime.instances.get(DOMAIN)

    def _assistant(self, instance: Instance) -> Assistant:
        """The assistant of an earlier run, else a new one."""
        if found := self._named(instance):
            return found
        self._ragcore("assistants", "add", "--domain", DOMAIN, "--name", ASSISTANT, "--dir", FOLDER)
        made = self._named(instance)
        if made is None:
            raise StackError("the assistant that was made is not there")
        return made

    def _named(self, instance: Instance) -> Assistant | None:
        assistants = map(Assistant.from_document, self.runtime.store.all(instance, ASSISTANTS))
        return next((assistant for assistant in assistants if assistant.name == ASSISTANT), None)

    def _wait_until_answerable(self, instance: Instance) -> None:
        """Until openRAG has called back about every file of the folder."""
        files = self._files(instance)
        deadline = time.monotonic() + INDEXED_WITHIN
        click.echo()
        with click.progressbar(length=len(files), label="Indexing", file=sys.stdout, width=30) as bar:
            while bar.pos < len(files):
                self.stack.check()
                bar.update(self._answerable(instance, files) - bar.pos)
                if time.monotonic() > deadline:
                    raise StackError(f"indexing takes too long: see {self.stack.data}/logs/worker-index.log")
                time.sleep(0.1)
        click.echo(f"{len(files)} of {len(files)} files can be asked about.")

    def _files(self, instance: Instance) -> list[str]:
        """The ids of the files under the folder."""
        tree = Tree(self.runtime.store, instance)
        waiting, files = [tree.at(FOLDER).id], []
        while waiting:
            for doc in (doc for page in tree.children(waiting.pop()) for doc in page):
                (waiting if doc["type"] == "directory" else files).append(doc["_id"])
        return files

    def _answerable(self, instance: Instance, files: list[str]) -> int:
        statuses = self.runtime.store.get_many(instance, STATUSES, files)
        return sum(status.get("status") == "success" for status in statuses.values())

    def _ragcore(self, *words: str) -> None:
        """Runs a command in the checkout, and shows it as a person would type it."""
        click.secho(f"\n$ ragcore {shlex.join(words)}", bold=True)
        done = subprocess.run(  # noqa: S603
            [RAGCORE, *words], env=self.stack.environment(), cwd=CHECKOUT, check=False, process_group=0
        )
        if done.returncode:
            raise StackError(f"ragcore {words[0]} failed")

    def _say_what_next(self, instance: Instance, assistant: Assistant) -> None:
        token = create_token(instance, "access", "demo", SCOPE)
        base = self.runtime.config.public_url(DOMAIN)
        settings = f"RAGCORE_CONFIG={shlex.quote(str(self.stack.config_path))}"
        click.echo(
            f"""
Open this in a browser, to chat about the folder (it signs you in to {DOMAIN} for 7 days):
  {page_link(base, instance)}

The API:      {base}
Websocket:    {base.replace("http", "ws", 1)}/realtime/

While it runs, try in another terminal (the token for {DOMAIN} is valid for 7 days):
  export {settings}
  export TOKEN={token}
  .venv/bin/ragcore ask --domain {DOMAIN} --assistant {assistant.id} "What did the dentist say?"
  .venv/bin/ragcore check
  curl {base}/ai/chat/conversations/my-first -H "Authorization: Bearer $TOKEN" -d '{{"q": "Hello"}}'"""
        )
