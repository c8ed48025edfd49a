"""Sockets that one API process holds, idle: its memory for each; and one event to the thousand of an instance, from
its publishing to the last of them.
"""

import asyncio
import tempfile
import time
import uuid
from pathlib import Path

from deploy.local.stack import Stack
from deploy.open_files import raise_limit
from ragcore.events import CHAT_EVENTS, Event
from ragcore.instances import Instance
from ragcore.permissions import create_token
from ragcore.runtime import Runtime
from tests.bench.clock import median
from tests.bench.crowd import Ear, open_ears
from tests.bench.people import runtime_of
from tests.bench.processes import processes
from tests.bench.row import Row, at_most

INSTANCES = 5
SOCKETS = 1000  # of each
EVENTS = 20
SETTLED = 3.0  # seconds
SERVICES = ("redis", "couchdb", "api")
SCOPE = "io.cozy.ai.chat.conversations io.cozy.ai.chat.events"


def measure(quick: bool) -> list[Row]:
    raise_limit()
    with tempfile.TemporaryDirectory() as data, Stack(Path(data), services=SERVICES) as stack:
        return asyncio.run(_measure(stack, SOCKETS // 10 if quick else SOCKETS, 5 if quick else EVENTS))


async def _measure(stack: Stack, sockets: int, events: int) -> list[Row]:
    runtime = runtime_of(stack)
    instances = [runtime.instances.add(f"sockets{number}.localhost") for number in range(INSTANCES)]
    await _open(runtime, instances[0], 10)  # what the first ones take is not theirs
    before = _memory(stack)
    crowds = [await _open(runtime, instance, sockets) for instance in instances]
    await asyncio.sleep(SETTLED)
    each = (_memory(stack) - before) / (len(instances) * sockets)
    assert all(ear.heard >= 0 for ears in crowds for ear in ears), "sockets were closed"
    delays = [await _delay(runtime, instances[0], crowds[0]) for _ in range(events)]
    held = len(instances) * sockets
    return [
        Row(f"{held} idle sockets of one API process, each", each / 1000, "kB", target=at_most(80, "80 kB")),
        Row(f"one event to {sockets} sockets", median(delays) * 1000, "ms", target=at_most(150, "150 ms"),
            note=f"slowest {max(delays) * 1000:.0f} ms"),
    ]  # fmt: skip


async def _open(runtime: Runtime, instance: Instance, count: int) -> list[Ear]:
    token = create_token(instance, "cli", "bench", SCOPE)
    return await open_ears(runtime.config.public_url(instance.domain), token, {"type": CHAT_EVENTS}, count)


async def _delay(runtime: Runtime, instance: Instance, ears: list[Ear]) -> float:
    """Seconds from the publishing of an event until the last one has it."""
    event = Event("CREATED", CHAT_EVENTS, uuid.uuid4().hex, {"object": "delta", "content": "Word", "position": 0})
    began = time.time()
    runtime.publisher.publish(instance.domain, event)
    while not all(ear.heard > began for ear in ears):
        assert time.time() < began + 30
        assert all(ear.heard >= 0 for ear in ears), "sockets were closed"
        await asyncio.sleep(0.005)
    return max(ear.heard for ear in ears) - began


def _memory(stack: Stack) -> int:
    """The resident set of the one process that serves."""
    _, worker = processes(stack, "api")
    return int(worker.memory_info().rss)
