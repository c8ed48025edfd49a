"""What each route asks of a token. A route that is not here fails the tests of the doors."""

from dataclasses import dataclass
from typing import Any

from ragcore.documents import ASSISTANTS, CONVERSATIONS, FILES, MEMORIES
from ragcore.job_documents import DOCTYPE as JOBS
from ragcore.triggers.documents import DOCTYPE as TRIGGERS

CHAT = ((CONVERSATIONS, "POST"), (FILES, "GET"))
FILE = {"Type": "file", "Name": "a.txt"}
JOB = {"data": {"attributes": {"arguments": {"doctype": FILES}}}}
TRIGGER = {
    "data": {"attributes": {"type": "@every", "arguments": "1h", "worker": "rag-index", "message": {"doctype": FILES}}}
}

Right = tuple[str, str]


@dataclass(frozen=True)
class Door:
    """`rights` are doctypes and verbs, all of which are needed; `values` fill the variables of the rule."""

    method: str
    rule: str
    rights: tuple[Right, ...]
    body: Any = None

    @property
    def path(self) -> str:
        path = self.rule
        for name, value in VALUES.items():
            path = path.replace(name, value)
        return path

    @property
    def name(self) -> str:
        return f"{self.method} {self.rule}"


VALUES = {
    "<conversation_id>": "c1",
    "<dir_id>": "io.cozy.files.root-dir",
    "<doctype>": ASSISTANTS,
    "<doc_id>": "d1",
    "<file_id>": "f1",
    "<job_id>": "j1",
    "<memory_id>": "m1",
    "<passage_id>": "p1",
    "<path:doc_id>": "d1",
    "<path:rest>": "d1/x",
    "<trigger_id>": "t1",
    "<worker>": "rag-index",
}

DATA = "/data/<doctype>"
DOORS = (
    Door("POST", "/ai/chat/conversations/<conversation_id>", CHAT, {"q": "Hello"}),
    Door("POST", "/ai/chat/conversations/<conversation_id>/cancel", (CHAT[0],)),
    Door("GET", "/ai/chat/conversations/<conversation_id>/events", CHAT),
    Door("GET", "/ai/extract/<passage_id>", CHAT),
    Door("POST", "/ai/v1/chat/completions", CHAT, {"messages": []}),
    Door("POST", "/ai/v1/tools/execute", CHAT),
    Door("GET", "/api/memories", ((MEMORIES, "GET"),)),
    Door("PATCH", "/api/memories/<memory_id>", ((MEMORIES, "PATCH"),), {"text": "Ada lives in Oslo."}),
    Door("DELETE", "/api/memories/<memory_id>", ((MEMORIES, "DELETE"),)),
    Door("POST", "/api/memories/<memory_id>/approve", ((MEMORIES, "POST"),)),
    Door("POST", "/api/memories/<memory_id>/reject", ((MEMORIES, "POST"),)),
    Door("POST", "/api/agent/chat", CHAT, {"message": "Hello"}),
    Door("POST", "/api/rag/ask", CHAT, {"question": "Hello"}),
    Door("GET", "/api/rag/conversations", ((CONVERSATIONS, "GET"),)),
    Door("GET", "/api/rag/conversations/<conversation_id>", ((CONVERSATIONS, "GET"),)),
    Door("PATCH", "/api/rag/conversations/<conversation_id>", ((CONVERSATIONS, "PATCH"),), {"title": "A"}),
    Door("DELETE", "/api/rag/conversations/<conversation_id>", ((CONVERSATIONS, "DELETE"),)),
    Door("GET", "/api/rag/sources", ((CONVERSATIONS, "GET"),)),
    Door("GET", "/api/usage", CHAT),
    Door("GET", f"{DATA}/<path:doc_id>", ((ASSISTANTS, "GET"),)),
    Door("POST", f"{DATA}/", ((ASSISTANTS, "POST"),), {"name": "A"}),
    Door("PUT", f"{DATA}/<path:doc_id>", ((ASSISTANTS, "POST"),), {"name": "A"}),
    Door("DELETE", f"{DATA}/<path:doc_id>", ((ASSISTANTS, "DELETE"),)),
    Door("POST", f"{DATA}/_find", ((ASSISTANTS, "GET"),), {"selector": {}}),
    Door("POST", f"{DATA}/_index", ((ASSISTANTS, "GET"),), {"index": {"fields": ["name"]}}),
    Door("GET", f"{DATA}/_all_docs", ((ASSISTANTS, "GET"),)),
    Door("POST", f"{DATA}/_all_docs", ((ASSISTANTS, "GET"),), {"keys": []}),
    Door("GET", f"{DATA}/_normal_docs", ((ASSISTANTS, "GET"),)),
    Door("GET", f"{DATA}/_design_docs", ((ASSISTANTS, "GET"),)),
    Door("POST", "/files/", ((FILES, "POST"),)),
    Door("POST", "/files/<dir_id>", ((FILES, "POST"),)),
    Door("POST", "/files/_all_docs", ((FILES, "GET"),), {"keys": []}),
    Door("GET", "/files/<file_id>", ((FILES, "GET"),)),
    Door("GET", "/files/download/<file_id>", ((FILES, "GET"),)),
    Door("PATCH", "/files/<file_id>", ((FILES, "PATCH"),), {"data": {"attributes": {}}}),
    Door("DELETE", "/files/<file_id>", ((FILES, "DELETE"),)),
    Door("GET", "/jobs/<job_id>", ((JOBS, "GET"),)),
    Door("GET", "/jobs/queue/<worker>", ((JOBS, "GET"),)),
    Door("POST", "/jobs/queue/<worker>", ((JOBS, "POST"),), JOB),
    Door("POST", "/jobs/triggers", ((TRIGGERS, "POST"),), TRIGGER),
    Door("GET", "/jobs/triggers", ((TRIGGERS, "GET"),)),
    Door("GET", "/jobs/triggers/<trigger_id>", ((TRIGGERS, "GET"),)),
    Door("GET", "/jobs/triggers/<trigger_id>/state", ((TRIGGERS, "GET"),)),
    Door("GET", "/jobs/triggers/<trigger_id>/jobs", ((TRIGGERS, "GET"),)),
    Door("POST", "/jobs/triggers/<trigger_id>/launch", ((TRIGGERS, "POST"),)),
    Door("DELETE", "/jobs/triggers/<trigger_id>", ((TRIGGERS, "DELETE"),)),
    Door("GET", "/v1/models", CHAT),
    Door(
        "POST", "/v1/chat/completions", CHAT, {"model": "ragcore", "messages": [{"role": "user", "content": "Hello"}]}
    ),
    Door("POST", "/realtime/<doctype>/<doc_id>", ((ASSISTANTS, "POST"),), {"data": {}}),
)

# Without a token: what is nobody's, and what has a proof of its own.
OPEN = {
    ("GET", "/"): "the page, which holds nothing of an instance",
    ("GET", "/static/<path:path>"): "its files",
    ("GET", "/openapi.json"): "what the routes are",
    ("GET", "/status"): "whether the process serves",
    ("POST", "/ai/index/status"): "openRAG's callback: the token of its upload, and the partition",
    ("GET", "/realtime/"): "the websocket: its first message is AUTH",
    ("POST", f"{DATA}/<path:rest>"): "always a 404",
    ("PATCH", f"{DATA}/<path:rest>"): "always a 404",
}
