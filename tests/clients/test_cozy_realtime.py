"""The published cozy-realtime client of web applications, run in Node against the websocket."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ragcore.documents import CONVERSATIONS
from ragcore.events import CHAT_EVENTS
from tests.support.api import Client
from tests.support.sandbox import Sandbox

SCRIPT = Path(__file__).with_name("web_client.js")
SOURCE = {"source_type": "document", "chunk": {"file_id": "f1", "filename": "sky.txt", "doctype": "io.cozy.files"}}

Json = dict[str, Any]


@pytest.fixture
def received(client: Client, sandbox: Sandbox) -> list[Json]:
    """What the client got, in order, of two questions of one conversation: `event`, and `doc` as it was cooked."""
    sandbox.script(
        {"reasoning": "The user "},
        {"reasoning": "asks."},
        {"content": "Because "},
        {"content": "of Rayleigh."},
        sources=[SOURCE],
        match="blue",
    )
    sandbox.script({"content": "Of "}, {"content": "dust."}, sources=[], match="red")
    return run(client, "Why is the sky blue?", "And why is it red?")


def run(client: Client, *questions: str) -> list[Json]:
    command = ["node", str(SCRIPT), client.base_url, client.token, *questions]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def question_ids(received: list[Json]) -> list[str]:
    """As the web clients learn them: out of the events of the conversation."""
    messages = [message for event in received for message in event["doc"].get("messages", [])]
    return list(dict.fromkeys(message["id"] for message in messages if message["role"] == "user"))


def chat_docs(received: list[Json]) -> list[Json]:
    return [event["doc"] for event in received if event["doc"]["_type"] == CHAT_EVENTS]


def test_every_event_of_an_answer_arrives_in_order(received: list[Json]) -> None:
    first, second = question_ids(received)
    ours = {"sourceType": "document", "id": "f1", "filename": "sky.txt", "doctype": "io.cozy.files"}
    expected = [
        (first, {"object": "reasoning", "content": "The user ", "position": 0}),
        (first, {"object": "reasoning", "content": "asks.", "position": 1}),
        (first, {"object": "delta", "content": "Because ", "position": 0}),
        (first, {"object": "delta", "content": "of Rayleigh.", "position": 1}),
        (first, {"object": "sources", "content": [ours]}),
        (first, {"object": "done"}),
        (second, {"object": "delta", "content": "Of ", "position": 0}),
        (second, {"object": "delta", "content": "dust.", "position": 1}),
        (second, {"object": "done"}),
    ]
    assert chat_docs(received) == [{"_id": id_, "_type": CHAT_EVENTS, **doc} for id_, doc in expected]


def test_the_conversation_comes_before_the_events_of_its_question(received: list[Json]) -> None:
    told = [(event["event"], event["doc"].get("object", len(event["doc"].get("messages", [])))) for event in received]
    assert told == [
        ("CREATED", 1),  # messages of the conversation: the question
        ("CREATED", "reasoning"),
        ("CREATED", "reasoning"),
        ("CREATED", "delta"),
        ("CREATED", "delta"),
        ("CREATED", "sources"),
        ("UPDATED", 2),  # and its answer
        ("CREATED", "done"),
        ("UPDATED", 3),
        ("CREATED", "delta"),
        ("CREATED", "delta"),
        ("UPDATED", 4),
        ("CREATED", "done"),
    ]


def test_a_conversation_is_told_whole(received: list[Json]) -> None:
    conversations = [event["doc"] for event in received if event["doc"]["_type"] == CONVERSATIONS]
    assert len({doc["_id"] for doc in conversations}) == 1
    assert [doc["_rev"].partition("-")[0] for doc in conversations] == ["1", "2", "3", "4"]
    contents = [message["content"] for message in conversations[-1]["messages"]]
    assert contents == ["Why is the sky blue?", "Because of Rayleigh.", "And why is it red?", "Of dust."]
