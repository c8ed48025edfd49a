"""`ragcore keys`."""

from typing import Any

import click

from deploy.cli.context import Context, domain_option, json_option, pass_context, print_json
from ragcore.keys import CHAT, Key, Keys


@click.group()
def keys() -> None:
    """Add, list and remove API keys: for programs that ask an instance with the OpenAI API."""


@keys.command()
@domain_option
@click.argument("scope", nargs=-1)
@click.option("--name", default="", help="What the key is for.")
@json_option
@pass_context
def add(context: Context, domain: str, scope: tuple[str, ...], name: str, as_json: bool) -> None:
    """Make an API key and print it, this once. SCOPE are rules as of a token; without any, those of a chat."""
    key, text = _keys(context, domain).add(" ".join(scope) or CHAT, name)
    if as_json:
        print_json({**_shown(key), "key": text})
    else:
        click.echo(text)


@keys.command()
@domain_option
@json_option
@pass_context
def ls(context: Context, domain: str, as_json: bool) -> None:
    """List the API keys of an instance, without what opens."""
    found = [_shown(key) for key in _keys(context, domain).all()]
    if as_json:
        print_json(found)
        return
    for key in found:
        click.echo(f"{key['id']}  {key['created_at']}  {key['name'] or '-'}: {key['scope']}")


@keys.command()
@domain_option
@click.argument("key_id")
@pass_context
def rm(context: Context, domain: str, key_id: str) -> None:
    """Remove the API key KEY_ID, which opens nothing from now on."""
    _keys(context, domain).remove(key_id)
    click.echo(f"The key {key_id} is removed.")


def _keys(context: Context, domain: str) -> Keys:
    return Keys(context.runtime.store, context.instance(domain))


def _shown(key: Key) -> dict[str, Any]:
    return {"id": key.id, **key.attributes()}
