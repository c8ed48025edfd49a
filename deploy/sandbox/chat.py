"""What a chat completion asks for: the request, its checks, its retrieval, its answer."""

from dataclasses import dataclass
from typing import Any

from deploy.sandbox import llm, quoting
from deploy.sandbox.completions import tokens_of
from deploy.sandbox.errors import ApiError, Invalid
from deploy.sandbox.pieces import Json, Pieces
from deploy.sandbox.retrieval import Passage, Retrieval, Scope
from deploy.sandbox.scripts import Script
from deploy.sandbox.settings import Llm, Settings

TOP_K = 5
# A passage that fits so much worse than the best one is noise.
WEAKEST = 0.35
MODEL_PREFIXES = ("openrag-", "ragondin-")
OWN_FIELDS = ("model", "messages", "metadata", "stream", "stream_options")


@dataclass(frozen=True)
class Chat:
    """`partition` None is the LLM alone. `options` are the fields that only the LLM understands."""

    model: str | None
    partition: str | None
    messages: list[Json]
    stream: bool
    scope: Scope | None
    override: Llm | None
    options: Json
    wants_usage: bool

    @property
    def question(self) -> str:
        """The text of the last user message."""
        return next((text_of(message) for message in reversed(self.messages) if _is_user(message)), "")

    @property
    def history(self) -> str:
        """The text of the last two user messages: what a short question may lean on."""
        texts = [text_of(message) for message in self.messages if _is_user(message)]
        return "\n".join(texts[-2:])


def parse(body: Any, settings: Settings) -> Chat:
    """Raises the 400, 404, 413 and 422 that the body alone gives reason for."""
    if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
        raise Invalid(("body", "messages"), "Field required", "missing")
    messages = body["messages"]
    if not all(isinstance(message, dict) and isinstance(message.get("role"), str) for message in messages):
        raise Invalid(("body", "messages"), "Input should be a list of messages")
    _check_last(messages)
    _check_size(body, settings)
    partition = _partition(body.get("model"))
    metadata = _metadata(body)
    return Chat(
        model=body.get("model"),
        partition=partition,
        messages=messages,
        stream=bool(body.get("stream")),
        scope=_scope(partition, metadata) if partition else None,
        override=_override(metadata.get("llm_override")),
        options={key: value for key, value in body.items() if key not in OWN_FIELDS},
        wants_usage=bool((body.get("stream_options") or {}).get("include_usage")),
    )


def retrieve(chat: Chat, retrieval: Retrieval) -> list[Passage]:
    """Best first. A question without a hit of its own is looked up together with the one before."""
    if chat.scope is None:
        return []
    found = retrieval.search(chat.question, chat.scope, TOP_K) or retrieval.search(chat.history, chat.scope, TOP_K)
    return [passage for passage in found if passage.rank >= WEAKEST * found[0].rank]


def answer(chat: Chat, passages: list[Passage], script: Script | None, server: Llm | None, word_delay: float) -> Pieces:
    """A script before all else, then the LLM of the request or of the server, then quotes."""
    if script is not None:
        return script.pieces()
    model = chat.override or server
    if model is not None:
        messages = llm.prompt(chat.messages, passages) if chat.partition else chat.messages
        return llm.open_stream(model, {**chat.options, "messages": messages})
    if delta := quoting.search_call(chat.question, chat.messages, chat.options.get("tools") or []):
        return quoting.call(delta, _usage(chat, "") if chat.wants_usage or not chat.stream else None)
    if chat.partition:
        text = quoting.answer_text(chat.question, passages)
    else:
        text = quoting.answer_alone(chat.question, chat.messages)
    return quoting.stream(text, word_delay, _usage(chat, text) if chat.wants_usage or not chat.stream else None)


def text_of(message: Json) -> str:
    """The text of a message whose content is text or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _usage(chat: Chat, text: str) -> Json:
    asked, given = tokens_of(chat.messages), len(text) // 4
    return {"prompt_tokens": asked, "completion_tokens": given, "total_tokens": asked + given}


def _is_user(message: Json) -> bool:
    return bool(message["role"] == "user")


def _check_last(messages: list[Json]) -> None:
    last = messages[-1] if messages else {"role": ""}
    if last["role"] == "tool" or (_is_user(last) and text_of(last).strip()):
        return
    raise ApiError(400, "The last message must be a non-empty user message", "INVALID_MESSAGES")


def _check_size(body: Json, settings: Settings) -> None:
    size = tokens_of([body["messages"], body.get("tools") or []])
    if size > settings.context_size:
        raise ApiError(
            413,
            f"The request holds {size} tokens, the context of the model {settings.context_size}",
            "CONTEXT_LENGTH_EXCEEDED",
        )


def _metadata(body: Json) -> Json:
    metadata = body.get("metadata") or {}
    if not isinstance(metadata, dict) or not isinstance(metadata.get("llm_override") or {}, dict):
        raise Invalid(("body", "metadata"), "Input should be an object")
    attachments = metadata.get("attachments") or []
    if not isinstance(attachments, list) or not all(isinstance(item, dict) for item in attachments):
        raise Invalid(("body", "metadata", "attachments"), "Input should be a list of objects")
    return metadata


def _partition(model: Any) -> str | None:
    if not model:
        return None
    for prefix in MODEL_PREFIXES:
        if isinstance(model, str) and model.startswith(prefix):
            return model.removeprefix(prefix)
    raise ApiError(404, f"Model '{model}' not found", "MODEL_NOT_FOUND")


def _scope(partition: str, metadata: Json) -> Scope:
    """A workspace wins over attachments."""
    attachments = metadata.get("attachments") or []
    file_ids = tuple(str(attachment.get("id")) for attachment in attachments)
    return Scope(partition, metadata.get("workspace") or None, file_ids or None)


def _override(override: Json | None) -> Llm | None:
    if not override or not override.get("base_url"):
        return None
    return Llm(override["base_url"], override.get("model") or "", override.get("api_key") or "")
