"""What the LLM is sent for an answer from passages: what colours the style first, then our rules with the passages."""

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from ragcore.grounded.cite import without_citations
from ragcore.grounded.remembered import Remembered
from ragcore.openrag import Passage

Json = dict[str, Any]

WINDOW = 6  # pairs of a question and its answer that the LLM is sent as they are
STYLE = "How the answer should be written (this changes its style alone):"
SUMMARY = "What this conversation was about before:"


def completion(style: Sequence[str], summary: str, rules: str, earlier: Sequence[Json], question: str) -> Json:
    """The body of POST /v1/chat/completions: without a model, the messages go to the LLM as they are."""
    return {
        "messages": [
            *(_system(f"{STYLE}\n{text}") for text in style if text.strip()),
            *([_system(f"{SUMMARY}\n{summary}")] if summary.strip() else []),
            _system(rules),
            *_window(earlier),
            {"role": "user", "content": question},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def rules_of(passages: Sequence[Passage], again: bool) -> str:
    """`again`: the first answer named no passage."""
    lines = (
        json.dumps(line_of(number, passage), ensure_ascii=False) for number, passage in enumerate(passages, start=1)
    )
    return "\n".join([prompt_text("rules"), *lines, *(["", prompt_text("again")] if again else [])])


def pairs_of(messages: Sequence[Json]) -> list[tuple[Json, Json]]:
    """The answered questions of a conversation, each with its answer."""
    return [
        (question, answer)
        for question, answer in pairwise(messages)
        if _says(question, "user") and _says(answer, "assistant")
    ]


def _window(earlier: Sequence[Json]) -> list[Json]:
    return [
        {"role": said["role"], "content": without_citations(said["content"]) if said is answer else said["content"]}
        for question, answer in pairs_of(earlier)[-WINDOW:]
        for said in (question, answer)
    ]


def _says(message: Json, role: str) -> bool:
    content = message.get("content")
    return message.get("role") == role and isinstance(content, str) and bool(content.strip())


def line_of(number: int, passage: Passage) -> Json:
    """To be written as JSON: no text of a document can end its passage then, and begin another."""
    if isinstance(passage, Remembered):
        return {"number": number, "memory of": passage.date, "text": passage.content}
    page = passage.metadata.get("page")
    told = {"number": number, "file": passage.filename} | ({"page": page} if isinstance(page, int) else {})
    return {**told, "text": passage.content}


def _system(text: str) -> Json:
    return {"role": "system", "content": text}


@cache
def prompt_text(name: str, package: str = "ragcore.grounded") -> str:
    return files(package).joinpath(f"prompts/{name}.txt").read_text("utf-8").strip()
