"""The summary of what the LLM is not sent any more of a conversation, refreshed behind each answer.

It is made from the summary before it and from what fell out of the window since, never from the start, and marked with
the message that it reaches (`upTo`). A refresh that fails is made up for by the next: the mark has not moved.
"""

import json
import logging
import time
import uuid
from typing import Any

from ragcore.aborting import Abortable
from ragcore.budgets.spending import not_now
from ragcore.chat.assistants import Scope, scope_of
from ragcore.chat.conversations import messages_of
from ragcore.documents import CONVERSATIONS
from ragcore.errors import RagcoreError, Retryable
from ragcore.grounded.cite import without_citations
from ragcore.grounded.prompt import WINDOW, pairs_of, prompt_text
from ragcore.instances import Instance
from ragcore.jobs import Queue, SummaryJob
from ragcore.runtime import Runtime
from ragcore.store import Document

log = logging.getLogger(__name__)

Json = dict[str, Any]

AT_ONCE = 12  # pairs: of a long conversation the refreshes follow each other
LONGEST_SAID = 4000  # characters of a message
LONGEST = 4000  # characters of a summary
WITHIN = 120.0  # seconds


def summary_in(doc: Document) -> str:
    return _text(_summary(doc).get("text"))


def is_due(doc: Document) -> bool:
    return bool(fallen_out(doc))


def fallen_out(doc: Document) -> list[tuple[Json, Json]]:
    """The pairs that are in neither the window nor the summary, the oldest first."""
    outside = pairs_of(messages_of(doc))[:-WINDOW]
    if (up_to := _summary(doc).get("upTo")) is None:
        return outside
    reached = [n for n, (_, answer) in enumerate(outside) if answer.get("id") == up_to]
    return outside[reached[-1] + 1 :] if reached else outside[-1:]  # somebody removed the message: not from the start


def refresh(runtime: Runtime, queue: Queue, job: SummaryJob) -> None:
    """Whatever fails is left to the next refresh."""
    if runtime.ending.is_set():
        return
    instance = Instance(job.domain, job.prefix, job.context, job.flags, org_id=job.org_id)
    try:
        saved = _refreshed(runtime, instance, job.conversation_id)
        if saved and is_due(saved):
            queue.summarize(job)
    except RagcoreError as error:
        log.warning("%s: conversation %s is not summed up: %s", job.domain, job.conversation_id, error)


def _refreshed(runtime: Runtime, instance: Instance, conversation_id: str) -> Document | None:
    """None where there was nothing to do, or another was quicker."""
    doc = runtime.store.get(instance, CONVERSATIONS, conversation_id)
    new = fallen_out(doc)[:AT_ONCE]
    if not new:
        return None
    scope = scope_of(runtime, instance, doc, documents=False)
    with scope.secrets_kept():
        text = _asked(runtime, instance, scope, _body(summary_in(doc), new, scope))
    made = {"text": text[:LONGEST], "upTo": new[-1][1].get("id")}

    def change(fresh: Document) -> Document | None:
        moved = "_rev" not in fresh or _summary(fresh) != _summary(doc)
        return None if moved else {**fresh, "summary": made}

    return runtime.store.update(instance, CONVERSATIONS, conversation_id, change)


def _asked(runtime: Runtime, instance: Instance, scope: Scope, body: Json) -> str:
    limits = runtime.config.jobs.rag_query
    times = (min(limits.headers_timeout, WITHIN), min(limits.silence_timeout, WITHIN), WITHIN)
    spending = runtime.budgets.spending(instance, uuid.uuid4().hex, time.time(), not_now)
    with spending.call(body) as spent, runtime.openrag(instance).chat(body, *times, Abortable()) as chunks:
        (chunk,) = chunks
        spent.take(chunk)
    if chunk.error or not chunk.content.strip():
        raise Retryable(f"the LLM failed: {chunk.error or 'it said nothing'}")
    return chunk.content.strip()


def _body(former: str, pairs: list[tuple[Json, Json]], scope: Scope) -> Json:
    said = [message for pair in pairs for message in pair]
    lines = [json.dumps({"notes": former}, ensure_ascii=False), *map(_line, said)]
    messages = [
        {"role": "system", "content": prompt_text("summary")},
        {"role": "user", "content": "\n".join(lines)},
    ]
    metadata: Json = {"websearch": False} | ({"llm_override": scope.llm_override} if scope.llm_override else {})
    return {"messages": messages, "stream": False, "metadata": metadata}


def _line(message: Json) -> str:
    text = without_citations(_text(message.get("content"))[:LONGEST_SAID])
    return json.dumps({str(message["role"]): text}, ensure_ascii=False)


def _summary(doc: Document) -> Json:
    summary = doc.get("summary")
    return summary if isinstance(summary, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
