"""The answer without an LLM: the best passages, quoted word by word."""

import json
import re
from typing import Any

from deploy.sandbox.pieces import Delta, End, Json, Pause, Pieces
from deploy.sandbox.retrieval import Passage, stem, words_of

QUOTED = 3
QUOTE_LENGTH = 280
SEARCH = "search_knowledge_base"  # the tool that is called without an LLM
LONGEST_QUERY = 1000

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\s*\n\s*")
_WORDS = re.compile(r"\s*\S+\s*")

INTRODUCTION = "No language model is connected here, so these are the passages that fit your question best."
NOTHING = "No language model is connected here, and no passage of your documents fits your question."
ALONE = "No language model is connected here, and the documents were not to be used: there is no answer."


def quote(question: str, passage: Passage) -> str:
    """The sentence that has most of the question's words, with what follows it, in one line."""
    sentences = [part for part in _SENTENCE_END.split(passage.content) if part.strip(" #*-|")]
    if not sentences:
        return passage.content.strip()
    wanted = {stem(word) for word in words_of(question)}
    counts = [len(wanted & {stem(word) for word in re.findall(r"\w+", text)}) for text in sentences]
    best = counts.index(max(counts))
    text = ""
    for sentence in sentences[best:]:
        if text and len(text) + len(sentence) > QUOTE_LENGTH:
            break
        text = f"{text} {sentence.strip(' #')}".strip()
    return text


def answer_text(question: str, passages: list[Passage]) -> str:
    """Numbered in the order of `passages`, as the sources are."""
    return _quoted(question, dict(enumerate(passages, start=1))) if passages else NOTHING


def answer_alone(question: str, messages: list[Json]) -> str:
    """From what the system messages and the results of tools hold: passages with their `number`, `file` and `text`."""
    texts = [str(message.get("content") or "") for message in messages if message.get("role") in ("system", "tool")]
    parsed = (value for text in texts for line in text.splitlines() for value in _values(line))
    given = dict(found for value in parsed if (found := _given(value)))
    return _quoted(question, given) if given else ALONE


def search_call(question: str, messages: list[Json], tools: list[Json]) -> Json | None:
    """The delta that looks the question up, where that is offered; None once there is a result."""
    names = [(tool.get("function") or {}).get("name") for tool in tools]
    if SEARCH not in names or messages[-1].get("role") == "tool":
        return None
    function = {"name": SEARCH, "arguments": json.dumps({"query": question[:LONGEST_QUERY]})}
    return {"tool_calls": [{"index": 0, "id": "search", "type": "function", "function": function}]}


def call(delta: Json, usage: Json | None) -> Pieces:
    yield Delta(delta)
    yield End("tool_calls", usage=usage)


def _values(line: str) -> list[Any]:
    """What a line of JSON is, and the passages in it."""
    try:
        value = json.loads(line)
    except ValueError:
        return []
    return [value, *(value.get("passages") or [])] if isinstance(value, dict) else []


def _given(value: Any) -> tuple[int, Passage] | None:
    match value:
        case {"number": int(number), "text": str(text), **more}:
            name = str(more.get("file") or "what is remembered")
            return number, Passage(0, "", "", name, int(more.get("page") or 1), text, {}, 0.0, 0.0)
    return None


def _quoted(question: str, passages: dict[int, Passage]) -> str:
    quotes = [
        f"“{quote(question, passage)}” [{number}] ({_place(passage)})"
        for number, passage in list(passages.items())[:QUOTED]
    ]
    return "\n\n".join([INTRODUCTION, *quotes])


def stream(text: str, word_delay: float, usage: Json | None) -> Pieces:
    yield Delta({"role": "assistant", "content": ""})
    for word in _WORDS.findall(text):
        yield Delta({"content": word})
        yield Pause(word_delay)
    yield End(usage=usage)


def _place(passage: Passage) -> str:
    paged = passage.filename.lower().endswith(".pdf")
    return f"{passage.filename}, page {passage.page}" if paged else passage.filename
