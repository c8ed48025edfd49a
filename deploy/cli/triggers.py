"""`ragcore triggers`."""

import json
from typing import Any

import click

from deploy.cli.context import Context, domain_option, json_option, pass_context, print_json
from ragcore.errors import Invalid
from ragcore.job_documents import WORKER
from ragcore.triggers.documents import Trigger, Triggers
from ragcore.triggers.due import DueTimes
from ragcore.triggers.launching import launch as launch_trigger
from ragcore.triggers.requests import new_trigger

FEED = '{"doctype": "io.cozy.files"}'


@click.group()
def triggers() -> None:
    """List, add, remove and launch triggers: the changes and the times that start index jobs."""


@triggers.command()
@domain_option
@json_option
@pass_context
def ls(context: Context, domain: str, as_json: bool) -> None:
    """List the triggers of an instance, with what became of their last job."""
    found = _triggers(context, domain)
    shown = [_shown(found, trigger) for trigger in found.all()]
    if as_json:
        print_json(shown)
        return
    for each in shown:
        debounce = f" (debounce {each['debounce']})" if each["debounce"] else ""
        last = each["current_state"].get("last_execution")
        became = f"{each['current_state']['status']} {last}" if last else "never launched"
        click.echo(f"{each['id']}  {each['type']} {each['arguments']}{debounce}  {each['worker']}: {became}")


@triggers.command()
@domain_option
@click.argument("type_", metavar="TYPE")
@click.argument("arguments", nargs=-1)
@click.option("--debounce", default="", help="How long after the first event the job is pushed: 30s, 1m30s.")
@click.option("--worker", default=WORKER, show_default=True)
@click.option("--message", default=FEED, show_default=True, help="The message of the job, as JSON.")
@json_option
@pass_context
def add(
    context: Context,
    domain: str,
    type_: str,
    arguments: tuple[str, ...],
    debounce: str,
    worker: str,
    message: str,
    as_json: bool,
) -> None:
    """Add a trigger.

    TYPE and ARGUMENTS say when: @event io.cozy.files, @cron '0 30 4 * * *' (seconds first), @every 1h,
    @daily between 2am and 5am, @weekly on monday, @monthly on the 1, @at 2026-12-24T18:00:00Z, @in 10m.
    Hours are of UTC.
    """
    found = _triggers(context, domain)
    attributes = {"type": type_, "arguments": " ".join(arguments), "worker": worker, "debounce": debounce}
    trigger = found.create(new_trigger(attributes | {"message": _json(message)}))
    context.runtime.publisher.flush()
    if as_json:
        print_json(_shown(found, trigger))
    else:
        click.echo(f"The trigger {trigger.id} is added.")


@triggers.command()
@domain_option
@click.argument("trigger_id")
@pass_context
def rm(context: Context, domain: str, trigger_id: str) -> None:
    """Remove a trigger."""
    found = _triggers(context, domain)
    found.delete(found.get(trigger_id))
    context.runtime.publisher.flush()
    click.echo(f"The trigger {trigger_id} is removed.")


@triggers.command()
@domain_option
@click.argument("trigger_id")
@json_option
@pass_context
def launch(context: Context, domain: str, trigger_id: str, as_json: bool) -> None:
    """Push the job of a trigger now."""
    trigger = _triggers(context, domain).get(trigger_id)
    job_id = launch_trigger(context.work, context.instance(domain), trigger, manual=True)
    context.runtime.publisher.flush()
    if as_json:
        print_json({"job": job_id})
    else:
        click.echo(f"job {job_id} is enqueued")


def _triggers(context: Context, domain: str) -> Triggers:
    return Triggers(context.runtime.store, context.instance(domain), DueTimes(context.runtime.redis))


def _shown(triggers: Triggers, trigger: Trigger) -> dict[str, Any]:
    attributes = trigger.attributes(triggers.instance.domain)
    return {"id": trigger.id, **attributes, "current_state": triggers.state(trigger.id)}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Invalid("the message is not JSON") from None
