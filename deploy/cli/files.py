"""`ragcore files`."""

import sys
from pathlib import Path

import click

from deploy.cli.context import Context, domain_option, json_option, pass_context, print_json
from ragcore.files.edit import Editor
from ragcore.files.importing import Folder, Summary, import_folder, read_local
from ragcore.jobs import FeedJob


@click.group()
def files() -> None:
    """Bring files in."""


@files.command("import")
@domain_option
@click.argument("local_dir", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--to", "path", help="The folder of the instance. [default: /, and the name of LOCAL_DIR]")
@json_option
@pass_context
def import_(context: Context, domain: str, local_dir: Path, path: str | None, as_json: bool) -> None:
    """Make a folder of the instance equal to LOCAL_DIR.

    Again, it writes only what changed, moved or vanished; what vanished goes to the trash. Links are not followed.
    """
    instance = context.instance(domain)
    editor = Editor(context.runtime.store, context.runtime.storage, instance)
    local = read_local(local_dir.resolve(), _warn)
    summary = _import(editor, local, path or f"/{local_dir.resolve().name}")
    if summary.wrote:
        context.queue.feed(FeedJob(domain))
    context.runtime.publisher.flush()
    if as_json:
        print_json(vars(summary))
    else:
        click.echo(f"{summary}.")
    if summary.failed:
        raise SystemExit(1)


def _import(editor: Editor, local: Folder, path: str) -> Summary:
    if not sys.stderr.isatty():
        return import_folder(editor, local, path, _warn, lambda: None)
    with click.progressbar(length=len(local.files), label="Importing", file=sys.stderr, width=30) as bar:
        return import_folder(editor, local, path, _warn, lambda: bar.update(1))


def _warn(message: str) -> None:
    click.echo(f"warning: {message}", err=True)
