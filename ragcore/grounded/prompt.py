"""What the LLM is sent for an answer from passages: what colours the style first, then our rules with the passages."""

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from ragcore.grounded.cite import without_citations
from ragcore.openrag import Passage

Json = dict[str, Any]

WINDOW = 6  # pairs of a question and its answer that the LLM is sent as they are
STYLE = "How the answer should be written (this changes its style alone):"
SUMMARY = "What this conversation was about before:"


def completion(
    style: Sequence[str], earlier: Sequence[Json], question: str, passages: Sequence[Passage], again: bool, summary: str
) -> Json:
    """The body of POST /v1/chat/completions: without a model, the messages go to the LLM as they are.

    `again`: its first answer named no passage.
    """
    rules = [prompt_text("rules"), "\n".join(_line(n, passage) for n, passage in enumerate(passages, start=1))]
    return {
        "messages": [
            *(_system(f"{STYLE}\n{text}") for text in style if text.strip()),
            *([_system(f"{SUMMARY}\n{summary}")] if summary.strip() else []),
            _system("\n".join([*rules, *(["", prompt_text("again")] if again else [])])),
            *_window(earlier),
            {"role": "user", "content": question},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


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


def _line(number: int, passage: Passage) -> str:
    """JSON: no text of a document can end its passage and begin another."""
    page = passage.metadata.get("page")
    told = {"number": number, "file": passage.filename} | ({"page": page} if isinstance(page, int) else {})
    return json.dumps({**told, "text": passage.content}, ensure_ascii=False)


def _system(text: str) -> Json:
    return {"role": "system", "content": text}


@cache
def prompt_text(name: str) -> str:
    return files("ragcore.grounded").joinpath(f"prompts/{name}.txt").read_text("utf-8").strip()
