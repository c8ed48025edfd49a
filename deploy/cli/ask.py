"""`ragcore ask`: a question on the command line, its answer as it streams."""

from collections.abc import Iterator
from typing import Any

import click

from deploy.cli import client
from deploy.cli.context import Context, domain_option, json_option, pass_context, print_json
from ragcore.errors import RagcoreError
from ragcore.permissions import create_token

Json = dict[str, Any]


@click.command()
@domain_option
@click.option("--assistant", "assistant_id", help="The id of an assistant; only a new conversation takes one.")
@click.option("--conversation", "conversation_id", help="The id of a conversation; an unknown one is made.")
@click.argument("question")
@json_option
@pass_context
def ask(
    context: Context,
    domain: str,
    assistant_id: str | None,
    conversation_id: str | None,
    question: str,
    as_json: bool,
) -> None:
    """Ask QUESTION and print the answer as it comes, with its sources."""
    token = create_token(context.instance(domain), "cli", "ask", client.SCOPE)
    base_url = context.config.public_url(domain)
    body = {"q": question, "assistantID": assistant_id}
    conversation_id, question_id = client.post_question(base_url, token, body, conversation_id)
    stream = client.events(base_url, token, question_id)
    if as_json:
        print_json({"conversation": conversation_id, **collect(stream)})
    else:
        show(stream)
        click.echo(f"(conversation {conversation_id})", err=True)


def show(events: Iterator[Json]) -> None:
    """Prints an answer as it streams, then its sources. Raises RagcoreError for an error event."""
    for event in events:
        match event["object"]:
            case "delta":
                click.echo(event["content"], nl=False)
            case "sources":
                click.echo("\n\nSources:")
                for source in _distinct(event["content"]):
                    click.echo(f"  - {source}")
            case "error":
                raise RagcoreError(event["message"])
            case "done":
                click.echo()


def collect(events: Iterator[Json]) -> Json:
    """The answer as a whole. Raises RagcoreError for an error event."""
    answer: Json = {"answer": "", "sources": []}
    for event in events:
        match event["object"]:
            case "delta":
                answer["answer"] += event["content"]
            case "sources":
                answer["sources"] = event["content"]
            case "error":
                raise RagcoreError(event["message"])
    return answer


def _distinct(sources: list[Json]) -> list[str]:
    """One line a file and page."""
    lines = []
    for source in sources:
        page = f", page {source['page']}" if source.get("page") else ""
        lines.append(f"{source.get('filename') or source.get('url') or source.get('id')}{page}")
    return list(dict.fromkeys(lines))
