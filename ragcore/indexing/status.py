"""The index status of a file: an `io.cozy.ai.chat.rag` document of the file's id."""

from dataclasses import dataclass
from typing import Any

from ragcore import units
from ragcore.documents import STATUSES, generation
from ragcore.errors import Invalid
from ragcore.instances import Instance
from ragcore.store import Document, Store

KNOWN = ("success", "error", "notsupported")


@dataclass(frozen=True)
class Callback:
    """What openRAG reports when an indexing task ends (the seed's POST /ai/index/status)."""

    file_id: str
    status: str
    doc_rev: str

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
    if not isinstance(value, str) or value in ("", ".", "..") or value.startswith("_"):
        raise Invalid(f"{name} must be the text that was sent", f"/{name}")
    return value


def record(store: Store, instance: Instance, callback: Callback) -> None:
    """Saves a status, unless one about a newer revision is there. Raises Conflict after three attempts."""

    def change(doc: Document) -> Document | None:
        if generation(callback.doc_rev) < generation(doc.get("docRev") or ""):
            return None
        changed = {**doc, "status": callback.status, "docRev": callback.doc_rev}
        if callback.status == "success":
            return changed | {"indexed": True, "lastSuccessDate": units.now()}
        return {"indexed": False, **changed, "lastErrorDate": units.now()}

    store.update(instance, STATUSES, callback.file_id, change)
