"""`python -m deploy.local demo|up|down|status`."""

from __future__ import annotations

from pathlib import Path

import click

from deploy.local import control
from deploy.local.errors import StackError
from deploy.local.layout import CHECKOUT

data_option = click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    default=CHECKOUT / ".ragcore",
    help="Folder of the stack: its files, databases and logs.  [default: .ragcore in the checkout]",
)


class OneLine(click.Group):
    """A stack that cannot go on is one line, and status 1."""

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except StackError as error:
            raise click.ClickException(str(error)) from None


@click.group(cls=OneLine)
def main() -> None:
    """The embedded stack: everything that ragcore needs, on this machine."""


@main.command()
@data_option
def up(data: Path) -> None:
    """Start the stack and leave it running."""
    for line in control.up(data):
        click.echo(line)


@main.command()
@data_option
def down(data: Path) -> None:
    """Stop the stack."""
    for line in control.down(data):
        click.echo(line)


@main.command()
@data_option
@click.pass_context
def status(context: click.Context, data: Path) -> None:
    """Say which processes run, and where; status 1 when one does not."""
    lines = list(control.status(data))
    for line in [*(line for line, _ in lines), *control.urls(data)]:
        click.echo(line)
    context.exit(0 if all(lives for _, lives in lines) else 1)


@main.command()
@data_option
def demo(data: Path) -> None:
    """Import a folder, ask two questions about it, show the answers as they come."""
    from deploy.local import demo as demonstration

    demonstration.main(data)


if __name__ == "__main__":
    main(prog_name="python -m deploy.local")
