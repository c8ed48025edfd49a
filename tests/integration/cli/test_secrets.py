"""What `--json` prints holds no key, token or password."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from deploy.cli import main
from ragcore.documents import ACCOUNTS
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from ragcore.triggers.documents import Triggers
from tests.support.cli import Result
from tests.support.files import Drive
from tests.support.sandbox import Sandbox
from tests.support.secrets import Finder
from tests.support.vault import DATABASE_PASSWORD, DATABASE_USER, SEALED

ONE_INSTANCE = True

GIVE_A_TOKEN = {"instances link", "keys add"}  # which is what they are for
DOMAIN, TRIGGER, FOLDER = "<domain>", "<trigger>", "<folder>"
WORDS: dict[str, tuple[str, ...]] = {
    "check": (),
    "instances ls": (),
    "instances show": (DOMAIN,),
    "instances link": (DOMAIN,),
    "keys add": ("--domain", DOMAIN),
    "keys ls": ("--domain", DOMAIN),
    "assistants add": ("--domain", DOMAIN, "--name", "A"),
    "files import": ("--domain", DOMAIN, FOLDER),
    "ask": ("--domain", DOMAIN, "Hello"),
    "rag reset": ("--domain", DOMAIN),
    "rag reconcile": ("--domain", DOMAIN),
    "rag prune": ("--domain", DOMAIN),
    "rag purge": ("--domain", DOMAIN),
    "triggers ls": ("--domain", DOMAIN),
    "triggers add": ("--domain", DOMAIN, "@hourly"),
    "triggers launch": ("--domain", DOMAIN, TRIGGER),
}


def commands(command: click.Command, *names: str) -> Iterator[str]:
    """All that print JSON."""
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from commands(below, *names, name)
    elif any(option.name == "as_json" for option in command.params):
        yield " ".join(names)


def test_every_command_that_prints_json_is_looked_at() -> None:
    assert set(commands(main)) == set(WORDS)


@pytest.fixture
def values(runtime: Runtime, instance: Instance, tmp_path: Path) -> dict[str, str]:
    """Of an instance with an account whose secrets are sealed, and an assistant that uses it."""
    account = {"auth": {"login": "large", "credentials_encrypted": SEALED}, "data": {"model": "m"}}
    account_id = runtime.store.save(instance, ACCOUNTS, account)["_id"]
    provider = {"data": {"_id": account_id, "_type": ACCOUNTS, "metadata": {"providerId": "other"}}}
    Drive(runtime, instance).assistant(relationships={"provider": provider})
    (tmp_path / "a.txt").write_text("A text.")
    triggers = Triggers(runtime.store, instance)
    triggers.create_for_index()
    return {DOMAIN: instance.domain, TRIGGER: triggers.all()[0].id, FOLDER: str(tmp_path)}


@pytest.mark.parametrize("name", WORDS)
def test_what_a_command_prints(
    ragcore: Callable[..., Result], runtime: Runtime, sandbox: Sandbox, values: dict[str, str], name: str
) -> None:
    sandbox.script({"content": "Hello."})
    result = ragcore(*name.split(), *(values.get(word, word) for word in WORDS[name]), "--json")
    assert json.loads(result.stdout) is not None, result.stderr
    said = result.stdout + result.stderr
    assert f"{DATABASE_USER}:{DATABASE_PASSWORD}" in runtime.config.couchdb.url
    assert SEALED not in said
    assert len(list(Finder(runtime)(said))) == (1 if name in GIVE_A_TOKEN else 0)
