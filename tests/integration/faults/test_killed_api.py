"""The API killed under two hundred clients on the published cozy-realtime, in the middle of their answers."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from deploy.local.layout import CHECKOUT
from deploy.local.stack import Stack
from ragcore.questions import Question
from ragcore.runtime import Runtime
from tests.integration.faults.conftest import Start
from tests.support.api import Client
from tests.support.chaos import Tell, times
from tests.support.questions import docs
from tests.support.sandbox import Sandbox

SOCKETS = 200
ANSWERS = times(4, 20)
PIECES = times(31, 61)  # of an answer, before the API is killed and after
AWAY = times(1, 3)  # seconds
SCRIPT = CHECKOUT / "tests" / "clients" / "web_audience.js"
FLOWING = [{"sleep": 0.1}, {"content": " more"}] * ((PIECES - 1) // 2)
LAST = [{"hold": "killed"}, {"content": " more"}]
ANSWER = [{"content": "begun"}, {"hold": "subscribed"}, *FLOWING, {"hold": "half"}, *FLOWING, *LAST]

Json = dict[str, Any]


@pytest.fixture(scope="module")
def own(start_stack: Start) -> Iterator[Stack]:
    with start_stack("redis", "couchdb", "openrag", "api", "worker-query") as stack:
        yield stack


def lost(follower: Json) -> int:
    positions = {told["position"] for told in follower["told"] if told["object"] == "delta"}
    return len(set(range(PIECES + 1)) - positions)


def per_connection(follower: Json) -> list[list[int]]:
    """The positions that came by each connection."""
    came: dict[int, list[int]] = {}
    for told in follower["told"]:
        came.setdefault(told["connection"], []).append(told.get("position", PIECES + 1))
    return list(came.values())


def figures_of(followers: list[Json]) -> dict[str, int]:
    came = [positions for follower in followers for positions in per_connection(follower)]
    return {
        "sockets again": sum(follower["connections"] > 1 for follower in followers),
        "lost": sum(lost(follower) for follower in followers if follower["byId"]),
        "doubled on a connection": sum(len(positions) - len(set(positions)) for positions in came),
        "out of order": sum(after < before for positions in came for before, after in pairwise(positions)),
        "without their answer": sum(f["text"] is None for f in followers if not f["byId"]),
    }


def test_clients_of_the_published_library_reconnect_and_have_all(
    own: Stack, runtime: Runtime, client: Client, sandbox: Sandbox, until: Callable, tell: Tell
) -> None:
    """One that subscribed to its question by its id is told it from its beginning; one that subscribed to all finds the
    answer in the conversation."""
    sandbox.script(*ANSWER, times=ANSWERS)
    asked = [client.ask("Hello", documents=False) for _ in range(ANSWERS)]
    ids = [f"{conversation}/{question}" for conversation, question in asked]
    command = ["node", str(SCRIPT), client.base_url, client.token, str(SOCKETS), *ids]
    api = own.processes["api"]

    def published() -> int:
        """The events of the answer that has the fewest."""
        return min(len(docs(runtime, Question(client.instance.domain, *one))) for one in asked)

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as node:
        assert node.stdout
        assert node.stdout.readline() == "subscribed\n"
        sandbox.release("subscribed")
        until(lambda: published() > PIECES // 2)
        sandbox.release("half")
        until(lambda: published() > PIECES // 2 + 3)
        api.kill()
        sandbox.release("killed")
        time.sleep(AWAY)
        api.start()
        followers = [json.loads(line) for line in node.stdout]
    figures = figures_of(followers)
    tell(f"{ANSWERS} answers, {SOCKETS} sockets of cozy-realtime", f"SIGKILL to the API, away for {AWAY} s", **figures)
    assert list(figures.values()) == [SOCKETS, 0, 0, 0, 0]
    assert {f["told"][-1]["object"] for f in followers if f["byId"]} == {"done"}
    assert {f["text"] for f in followers if not f["byId"]} == {"begun" + " more" * PIECES}
