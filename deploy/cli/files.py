"""`ragcore files`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from deploy.cli.context import Context, domain_option, json_option, pass_context, print_json
from ragcore.files.applying import Summary
from ragcore.files.edit import Editor
from ragcore.files.importing import Import


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
    warnings: list[str] = []
    editor = Editor(context.runtime.store, context.runtime.storage, context.instance(domain))

    def warn(message: str) -> None:
        warnings.append(message)
        click.echo(f"warning: {message}", err=True)

    run = Import(editor, str(local_dir.resolve()), path or _named_like(local_dir), warn)
    with _indexed_after(context, domain, run.summary):
        _run(run)
    if as_json:
        print_json({**run.summary.counts(), "warnings": warnings})
    else:
        click.echo(run.summary)
    if run.summary.failed:
        raise SystemExit(1)


def _named_like(local_dir: Path) -> str:
    if name := local_dir.resolve().name:
        return f"/{name}"
    raise click.UsageError("LOCAL_DIR has no name: say --to which folder")


@contextmanager
def _indexed_after(context: Context, domain: str, summary: Summary) -> Iterator[None]:
    """Has the changes indexed, also those of an import that was broken off."""
    try:
        yield
    finally:
        if summary.wrote:
            context.runtime.publisher.flush()
            context.work.feed(domain)


def _run(run: Import) -> None:
    work = run.plan()
    if not sys.stderr.isatty():
        run.apply(lambda units: None)
        return
    with click.progressbar(length=work, label="Importing", file=sys.stderr, width=30) as bar:
        run.apply(bar.update)
