"""The parts of a running server, and how a route gets at them."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from flask import Request, current_app, g

from deploy.sandbox.calls import Call, Calls
from deploy.sandbox.errors import Invalid
from deploy.sandbox.faults import Faults
from deploy.sandbox.files import Files
from deploy.sandbox.indexer import Indexer
from deploy.sandbox.partitions import Partitions
from deploy.sandbox.retrieval import Retrieval
from deploy.sandbox.scripts import Scripts
from deploy.sandbox.settings import Llm, Settings
from deploy.sandbox.workspaces import Workspaces


@dataclass(frozen=True)
class Sandbox:
    """`incoming` is the folder of uploads that are still being received."""

    settings: Settings
    api_key: str
    llm: Llm | None
    incoming: Path
    partitions: Partitions
    files: Files
    workspaces: Workspaces
    retrieval: Retrieval
    indexer: Indexer
    scripts: Scripts
    faults: Faults
    calls: Calls


def sandbox() -> Sandbox:
    return cast(Sandbox, current_app.extensions["sandbox"])


def this_call() -> Call:
    return cast(Call, g.call)


class UploadRequest(Request):
    """A request whose files are received on disk, beside where they stay, and are gone when it ends."""

    # The metadata of a file is a form field, and has no limit of its own in openRAG.
    max_form_memory_size = 16 * 1024 * 1024

    def _get_file_stream(
        self,
        total_content_length: int | None,
        content_type: str | None,
        filename: str | None = None,
        content_length: int | None = None,
    ) -> IO[bytes]:
        return cast(IO[bytes], tempfile.NamedTemporaryFile(dir=sandbox().incoming))  # noqa: SIM115


def json_object(request: Request) -> dict[str, Any]:
    """The JSON object of the body; raises a 422 where there is none."""
    body = request.get_json(force=True, silent=True)
    if not isinstance(body, dict):
        raise Invalid(("body",), "Input should be a valid JSON object", "json_invalid")
    return body
