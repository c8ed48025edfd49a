"""`ragcore assistants`."""

import click

from deploy.cli.context import Context, domain_option, json_option, pass_context, print_json
from ragcore import units
from ragcore.documents import ASSISTANTS, FILES
from ragcore.errors import Invalid
from ragcore.files.tree import Tree
from ragcore.store import Document


@click.group()
def assistants() -> None:
    """Make assistants."""


@assistants.command()
@domain_option
@click.option("--name", required=True)
@click.option("--dir", "path", help="The knowledge base folder: a path of the instance, / for all of it.")
@click.option("--prompt", default="", help="What the LLM is told with every question.")
@json_option
@pass_context
def add(context: Context, domain: str, name: str, path: str | None, prompt: str, as_json: bool) -> None:
    """Make an assistant, and have its folder indexed."""
    if not name.strip():
        raise Invalid("an assistant needs a name")
    instance = context.instance(domain)
    store = context.runtime.store
    folder = Tree(store, instance).at(path).id if path is not None else None
    saved = store.save(instance, ASSISTANTS, _document(name, prompt, folder, context.config.public_url(domain)))
    context.work.feed(domain)
    context.runtime.publisher.flush()
    if as_json:
        print_json({"id": saved["_id"], "name": name, "folder": folder})
    else:
        click.echo(f"The assistant {name} is made: {saved['_id']}")
        if folder:
            click.echo("Its folder is being indexed: answers may be incomplete for a moment.", err=True)


def _document(name: str, prompt: str, folder: str | None, created_on: str) -> Document:
    now = units.now()
    doc: Document = {
        "name": name,
        "prompt": prompt,
        "icon": None,
        "relationships": {},
        "cozyMetadata": {
            "doctypeVersion": "1",
            "metadataVersion": 1,
            "createdAt": now,
            "updatedAt": now,
            "createdOn": f"{created_on}/",
        },
    }
    if folder:
        doc["relationships"] = {"knowledgeBase": {"data": [{"_id": folder, "_type": FILES}]}}
    return doc
