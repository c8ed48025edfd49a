"""`ragcore instances` and `ragcore features`."""

import json
from typing import Any

import click

from deploy.cli.client import page_link
from deploy.cli.context import Context, domain_option, json_option, pass_context, print_json
from ragcore.errors import Invalid
from ragcore.files.edit import Editor
from ragcore.instances import Instance
from ragcore.permissions import create_token
from ragcore.triggers.documents import Triggers


@click.group()
def instances() -> None:
    """Add, list, show and remove instances, and make tokens for them."""


def _shown(instance: Instance) -> dict[str, Any]:
    """An instance without its secrets."""
    return {
        "domain": instance.domain,
        "prefix": instance.prefix,
        "context": instance.context,
        "locale": instance.locale,
        **({"org_id": instance.org_id} if instance.org_id else {}),
        "feature_flags": instance.flags,
    }


@instances.command()
@click.argument("domain")
@click.option("--context", "context_name", default="", help="A context of the configuration.")
@click.option("--locale", default="en", show_default=True)
@click.option("--org-id", default="", help="The organisation that it is a member's of.")
@pass_context
def add(context: Context, domain: str, context_name: str, locale: str, org_id: str) -> None:
    """Make the instance DOMAIN, with its root folder and its trash, and the triggers that have it indexed."""
    instance = context.runtime.instances.add(domain, context_name, locale, org_id)
    Editor(context.runtime.store, context.runtime.storage, instance).prepare()
    Triggers(context.runtime.store, instance).create_for_index()
    context.runtime.publisher.flush()
    click.echo(f"The instance {domain} is made.")


@instances.command()
@json_option
@pass_context
def ls(context: Context, as_json: bool) -> None:
    """List the instances."""
    found = context.runtime.instances.all()
    if as_json:
        print_json([_shown(instance) for instance in found])
    else:
        for instance in found:
            click.echo(instance.domain)


@instances.command()
@click.argument("domain")
@json_option
@pass_context
def show(context: Context, domain: str, as_json: bool) -> None:
    """Show the instance DOMAIN."""
    shown = _shown(context.instance(domain))
    if as_json:
        print_json(shown)
    else:
        for name, value in shown.items():
            click.echo(f"{name}: {json.dumps(value) if isinstance(value, dict) else value}")


@instances.command()
@click.argument("domain")
@pass_context
def rm(context: Context, domain: str) -> None:
    """Remove the instance DOMAIN. Its databases and files stay."""
    context.runtime.instances.remove(domain)
    click.echo(f"The instance {domain} is removed; its databases and files stay.")


@instances.command("token-cli")
@click.argument("domain")
@click.argument("scope", nargs=-1, required=True)
@pass_context
def token_cli(context: Context, domain: str, scope: tuple[str, ...]) -> None:
    """Print a token for DOMAIN, valid for 30 minutes, with the rules of SCOPE."""
    click.echo(create_token(context.instance(domain), "cli", "CLI", " ".join(scope)))


@instances.command("token-oauth")
@click.argument("domain")
@click.argument("client")
@click.argument("scope", nargs=-1, required=True)
@pass_context
def token_oauth(context: Context, domain: str, client: str, scope: tuple[str, ...]) -> None:
    """Print a token for DOMAIN, valid for 7 days: for pages and scripts. CLIENT is a name for who uses it."""
    click.echo(create_token(context.instance(domain), "access", client, " ".join(scope)))


@instances.command()
@click.argument("domain")
@json_option
@pass_context
def link(context: Context, domain: str, as_json: bool) -> None:
    """Print a link to the page of DOMAIN that signs in whoever opens it, for 7 days."""
    url = page_link(context.config.public_url(domain), context.instance(domain))
    if as_json:
        print_json({"url": url})
    else:
        click.echo(url)


@click.group()
def features() -> None:
    """Show and set feature flags."""


@features.command()
@domain_option
@click.argument("flags", required=False)
@pass_context
def flags(context: Context, domain: str, flags: str | None) -> None:
    """Show the flags of an instance, or merge the JSON object FLAGS into them (null takes a flag away)."""
    if flags is None:
        print_json(context.instance(domain).flags)
        return
    try:
        given = json.loads(flags)
    except (ValueError, RecursionError):
        raise Invalid("the flags are not JSON") from None
    if not isinstance(given, dict):
        raise Invalid("the flags must be a JSON object")
    print_json(context.runtime.instances.set_flags(domain, given))
