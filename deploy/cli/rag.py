"""`ragcore rag`."""

from dataclasses import asdict

import click

from deploy.cli.context import Context, domain_option, json_option, pass_context, print_json
from ragcore.indexing import operate

WAIT = 60.0  # seconds for an operation's counts


@click.group()
def rag() -> None:
    """Repair what openRAG holds of an instance."""


@rag.command()
@domain_option
@json_option
@pass_context
def reset(context: Context, domain: str, as_json: bool) -> None:
    """Read the whole changes feed again."""
    _print_jobs(operate.reset(context.work, domain), as_json)


@rag.command()
@domain_option
@click.option("--dir-id", default="", help="One knowledge base folder. [default: all of them]")
@json_option
@pass_context
def reconcile(context: Context, domain: str, dir_id: str, as_json: bool) -> None:
    """Index the files of knowledge base folders again."""
    _print_jobs(operate.reconcile(context.work, domain, dir_id), as_json)


@rag.command()
@domain_option
@json_option
@pass_context
def prune(context: Context, domain: str, as_json: bool) -> None:
    """Delete what no knowledge base folder claims."""
    _print_counts(context, domain, operate.prune(context.work, domain), as_json)


@rag.command()
@domain_option
@json_option
@pass_context
def purge(context: Context, domain: str, as_json: bool) -> None:
    """Delete everything that openRAG holds of the instance."""
    _print_counts(context, domain, operate.purge(context.work, domain), as_json)


def _print_counts(context: Context, domain: str, job_id: str, as_json: bool) -> None:
    counts = operate.wait_for(context.work, domain, job_id, WAIT)
    if counts is None:
        _print_jobs([job_id], as_json)
    elif as_json:
        print_json(asdict(counts))
    else:
        click.echo(f"{_count(counts.files_scanned, 'file')} scanned, {counts.files_deleted} deleted; "
                   f"{_count(counts.workspaces_deleted, 'workspace')} deleted")  # fmt: skip


def _count(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"


def _print_jobs(ids: list[str], as_json: bool) -> None:
    if as_json:
        print_json({"jobs": ids})
    else:
        click.echo("\n".join(f"job {job_id} is enqueued" for job_id in ids) or "nothing to do: no folder is indexed")
