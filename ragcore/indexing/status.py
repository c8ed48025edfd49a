"""The index status of a file: an `io.cozy.ai.chat.rag` document of the file's id."""

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ragcore import units
from ragcore.documents import LONGEST_ID, generation
from ragcore.errors import Invalid
from ragcore.instances import Instance
from ragcore.permissions import InvalidToken
from ragcore.store import Document

KNOWN = ("success", "error", "notsupported")


class Reason(StrEnum):
    """Why a file is not on openRAG, and will not be as it is."""

    ENCRYPTED = "encrypted"
    MEDIA = "media"  # the flag of its class is not set
    TOO_LARGE = "too_large"
    FORMAT = "format"  # openRAG cannot read it
    MISSING = "missing"  # it has no content
    CHANGED = "changed"  # its content is not the one of its document


@dataclass(frozen=True)
class Callback:
    """What openRAG reports when an indexing task ends (the seed's POST /ai/index/status).

    The `reason` is ours, of a file that it was not sent, or did not take.
    """

    file_id: str
    status: str
    doc_rev: str
    reason: Reason | None = None

    @classmethod
    def parse(cls, body: Any, domain: str) -> "Callback":
        """Raises Invalid: a callback without a revision cannot be placed, one of another partition is not ours."""
        if not isinstance(body, dict):
            raise Invalid("the body must be a JSON object")
        if body.get("partition") != domain:
            raise Invalid("the partition is not this instance", "/partition")
        file_id, status = _text(body, "file_id"), _text(body, "status")
        if status not in KNOWN:
            raise Invalid(f"the status must be one of {', '.join(KNOWN)}", "/status")
        metadata = body.get("metadata")
        doc_rev = metadata.get("doc_rev") if isinstance(metadata, dict) else None
        if not isinstance(doc_rev, str) or not generation(doc_rev):
            raise Invalid("the revision of the document is needed", "/metadata/doc_rev")
        return cls(file_id, status, doc_rev)


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or value in ("", ".", "..") or value.startswith("_") or len(value) > LONGEST_ID:
        raise Invalid(f"{name} must be the text that was sent", f"/{name}")
    return value


def callback_token(instance: Instance, file_id: str) -> str:
    """Ties a callback to the instance and the file: what an upload carries, and nothing is stored."""
    message = f"index status\n{instance.domain}\n{file_id}".encode()
    return hmac.new(instance.secrets["session"], message, "sha256").hexdigest()


def check_token(instance: Instance, callback: Callback, token: str, required: bool) -> None:
    """A callback without a token is taken unless one is required. Raises InvalidToken."""
    expected = callback_token(instance, callback.file_id)
    if (token or required) and not hmac.compare_digest(token.encode(), expected.encode()):
        raise InvalidToken("the token of the callback is missing or wrong")


def change_of(callback: Callback) -> Callable[[Document], Document | None]:
    """What a callback makes of a status document; None for one about a newer revision."""

    def change(doc: Document) -> Document | None:
        newest = doc.get("docRev")
        if isinstance(newest, str) and generation(callback.doc_rev) < generation(newest):
            return None
        changed = {**without_reason(doc), "status": callback.status, "docRev": callback.doc_rev}
        if callback.reason:
            changed["reason"] = callback.reason
        if callback.status == "success":
            return changed | {"indexed": True, "lastSuccessDate": units.now()}
        return {"indexed": False, **changed, "lastErrorDate": units.now()}

    return change


def without_reason(doc: Document) -> Document:
    return {key: value for key, value in doc.items() if key != "reason"}
