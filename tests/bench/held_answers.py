"""Answers that one query worker holds at once: each has begun, and its stream is idle. What it takes for each of them.

Memory is the resident set of the worker's process, beside what it was before the questions, some answers being over.
"""

import asyncio
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from deploy.local.ports import HOST
from deploy.local.stack import Stack
from deploy.open_files import raise_limit
from ragcore.instances import Instance
from ragcore.permissions import create_token
from ragcore.runtime import Runtime
from tests.bench.clock import HEAD, event_of, read_request
from tests.bench.kept import Kept
from tests.bench.people import runtime_of
from tests.bench.processes import processes
from tests.bench.row import Row, Target, at_most

ANSWERS = 1000
FIRST = 20  # answers before: what they take is not counted
CLIENTS = 8
WITHIN = 180.0  # seconds
SETTLED = 5.0  # seconds
SERVICES = ("redis", "couchdb", "api", "worker-query")
SCOPE = "io.cozy.ai.chat.conversations io.cozy.files"


class Holder:
    """openRAG's completions: a delta, and nothing more until `released` is set."""

    def __init__(self) -> None:
        self.held = self.most = 0
        self.released = asyncio.Event()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(HEAD + event_of({"choices": [{"delta": {"content": "Word"}}]}))
        self.held += 1
        self.most = max(self.most, self.held)
        await self.released.wait()
        self.held -= 1
        writer.write(event_of({"choices": [{"delta": {}, "finish_reason": "stop"}]}) + b"data: [DONE]\n\n")
        await writer.drain()
        writer.close()


def measure(quick: bool) -> list[Row]:
    raise_limit()
    return asyncio.run(_measure(ANSWERS // 10 if quick else ANSWERS))


async def _measure(answers: int) -> list[Row]:
    holder = Holder()
    server = await asyncio.start_server(holder.answer, HOST, 0, backlog=1024)
    openrag = f"http://{HOST}:{server.sockets[0].getsockname()[1]}"
    with tempfile.TemporaryDirectory() as data:
        stack = Stack(Path(data), services=SERVICES, config={"rag": {"default": {"url": openrag}}})
        with stack:
            runtime = runtime_of(stack)
            instance = runtime.instances.add("held.localhost")
            await _hold(runtime, instance, holder, FIRST)
            await _release(holder)
            before = _memory(stack)
            await _hold(runtime, instance, holder, answers)
            await asyncio.sleep(SETTLED)
            each = (_memory(stack) - before) / answers
            await _release(holder)
    return [
        Row(
            "answers held at once by one query worker",
            holder.most,
            "",
            target=Target(f"{answers}", plus=answers, at_least=True),
        ),
        Row("memory for each of them", each / 1000, "kB", target=at_most(120, "120 kB")),
    ]


async def _hold(runtime: Runtime, instance: Instance, holder: Holder, answers: int) -> None:
    headers = {"Authorization": f"Bearer {create_token(instance, 'cli', 'bench', SCOPE)}"}

    async def ask(count: int) -> None:
        async with Kept(runtime.config.public_url(instance.domain), headers) as client:
            for _ in range(count):
                path = f"/ai/chat/conversations/{uuid.uuid4().hex}"
                status, body = await client.ask("POST", path, {"q": "Why?", "documents": False})
                assert status == 202, body

    shares = [answers // CLIENTS + (number < answers % CLIENTS) for number in range(CLIENTS)]
    await asyncio.gather(*map(ask, shares))
    await _until(lambda: holder.held == answers)


async def _release(holder: Holder) -> None:
    holder.released.set()
    await _until(lambda: holder.held == 0)
    await asyncio.sleep(SETTLED)
    holder.released.clear()


async def _until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + WITHIN
    while not is_so() and time.monotonic() < until:
        await asyncio.sleep(0.1)


def _memory(stack: Stack) -> int:
    return sum(process.memory_info().rss for process in processes(stack, "worker-query"))
