"""What the messages of a day tell that it has used."""

from collections.abc import Iterator
from typing import Any

from ragcore.budgets.counters import Turn
from ragcore.budgets.day import Day
from ragcore.chat.conversations import QUESTIONS, messages_of
from ragcore.documents import BY_DATE, CHANGED, CONVERSATIONS
from ragcore.instances import Instance
from ragcore.openrag.completions import Usage
from ragcore.store import Document, Store

SURFACES = ("ask", "agent")  # whose questions are counted too
COUNTED_AS = {**{surface: surface for surface in SURFACES}, "v1": "ask"}
READ_AT_ONCE = 10  # conversations: they may be long
MOST_PAGES = 100  # of an instance: who talks more in a day is counted short
CHARACTERS = 4  # of a token, where the LLM told no figures


def turns_of(store: Store, instance: Instance, day: Day) -> Iterator[Turn]:
    """Of an instance's answered questions. Raises Retryable."""
    for doc in _changed_since(store, instance, day):
        yield from _turns_in(doc, instance.domain, day)


def estimate(characters: int) -> int:
    """Tokens."""
    return -(-characters // CHARACTERS)


def _turns_in(doc: Document, domain: str, day: Day) -> Iterator[Turn]:
    messages = messages_of(doc)
    for question, answer in zip(messages, messages[1:], strict=False):
        # what a client gave of an earlier conversation was used when it was answered there
        asked = question.get("role") in QUESTIONS and answer.get("role") == "assistant" and not question.get("given")
        if asked and _text(question, "createdAt").startswith(day.date) and (question_id := _text(question, "id")):
            surface = COUNTED_AS.get(_text(answer, "surface"), "")
            yield Turn(domain, question_id, surface, _tokens(question, answer))


def _tokens(question: Document, answer: Document) -> int:
    if usage := Usage.parse(answer.get("usage")):
        return usage.total_tokens
    return estimate(sum(len(_text(*part)) for part in ((question, "content"), (answer, "content"),
                                                       (answer, "reasoning"))))  # fmt: skip


def _changed_since(store: Store, instance: Instance, day: Day) -> Iterator[Document]:
    query = {
        "selector": {CHANGED: {"$gte": day.began_at}},
        "sort": [{CHANGED: "asc"}],
        "fields": ["_id", "messages"],
        "limit": READ_AT_ONCE,
    }
    for _ in range(MOST_PAGES):
        found = _page(store, instance, query)
        yield from found.get("docs", [])
        if len(found.get("docs", [])) < READ_AT_ONCE:
            return
        query["bookmark"] = found["bookmark"]


def _page(store: Store, instance: Instance, query: Document) -> Document:
    def find() -> Document:
        return store.query(instance, CONVERSATIONS, "_find", query) or {}

    return store.with_index(instance, CONVERSATIONS, BY_DATE, [CHANGED], find)


def _text(message: dict[str, Any], name: str) -> str:
    text = message.get(name)
    return text if isinstance(text, str) else ""
