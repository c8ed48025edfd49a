"""A language model that does whatever it reads: the worst one that an injected text can meet.

It is an OpenAI-compatible server behind the stand-in openRAG, as the LLM of an assistant. `CALL name {...}`, at the end
of a line of anything that it is given, makes it call that tool, whether it was offered or not, all of them in one
answer, the arguments in small pieces. Without tools, and without such a line, it says all that it was given, word for
word.
"""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from flask import Flask, Response, request
from werkzeug.serving import make_server

Json = dict[str, Any]

ORDER = re.compile(r"CALL (\w+) (\{.*\})")
PIECE = 5  # characters


@dataclass
class Obedient:
    """`given` are the messages of each completion, as one text."""

    url: str = ""
    given: list[str] = field(default_factory=list)

    def answer(self, body: Json) -> Iterator[Json]:
        text = "\n".join(str(message.get("content") or "") for message in body["messages"])
        self.given.append(text)
        orders = ORDER.findall(text) if body.get("tools") else []
        for index, (name, arguments) in enumerate(orders):
            yield _fragment(index, id=f"call-{len(self.given)}-{index}", function={"name": name, "arguments": ""})
            for at in range(0, len(arguments), PIECE):
                yield _fragment(index, function={"arguments": arguments[at : at + PIECE]})
        if not orders:
            yield _choice({"content": text})
        yield _choice({}, "tool_calls" if orders else "stop")


def _fragment(index: int, **fields: Any) -> Json:
    return _choice({"tool_calls": [{"index": index, "type": "function", **fields}]})


def _choice(delta: Json, finish: str | None = None) -> Json:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


@contextmanager
def obedient() -> Iterator[Obedient]:
    """Serves it on the loopback."""
    llm, app = Obedient(), Flask("obedient")

    @app.post("/chat/completions")
    def completions() -> Response:
        chunks = [f"data: {json.dumps(chunk)}\n\n" for chunk in llm.answer(request.get_json())]
        return Response([*chunks, "data: [DONE]\n\n"], mimetype="text/event-stream")

    server = make_server("127.0.0.1", 0, app, threaded=True)
    llm.url = f"http://127.0.0.1:{server.port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield llm
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
