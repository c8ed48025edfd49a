"""A server with openRAG's completions whose chunks say when they were sent, and figures of delays."""

import asyncio
import json
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from deploy.local.ports import HOST

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
CHUNK = b'data: {"choices": [{"delta": {"content": "%.6f "}}]}\n\n'


class Clock:
    """Each completion is `chunks` deltas, `apart` seconds from one to the next; the content of each is the time."""

    def __init__(self, chunks: int, apart: float) -> None:
        self.chunks = chunks
        self.apart = apart
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(HEAD)
        for number in range(self.chunks):
            if number:
                await asyncio.sleep(self.apart)
            writer.write(CHUNK % time.time())
            await writer.drain()
        writer.write(event_of({"choices": [{"delta": {}, "finish_reason": "stop"}]}) + b"data: [DONE]\n\n")
        await writer.drain()
        writer.close()


async def read_request(reader: asyncio.StreamReader) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
    await reader.readexactly(int(length or 0))


def event_of(chunk: object) -> bytes:
    return f"data: {json.dumps(chunk)}\n\n".encode()


@contextmanager
def clock(chunks: int, apart: float) -> Iterator[Clock]:
    made, loop = Clock(chunks, apart), asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(made.answer, HOST, 0, backlog=512))
    made.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def median(delays: Sequence[float]) -> float:
    return statistics.median(delays)


def p99(delays: Sequence[float]) -> float:
    return sorted(delays)[int(len(delays) * 0.99)]
