"""Calls of one instance's server, for its partition. Ids are percent-encoded here."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, BinaryIO, cast
from urllib.parse import quote

import requests
from requests_toolbelt import MultipartEncoder
from urllib3.exceptions import NewConnectionError

from ragcore.aborting import Abortable
from ragcore.config import RagServer
from ragcore.errors import Failed, NotFound, Refused, Retryable, Unanswered
from ragcore.files.checked import Checked
from ragcore.openrag.bodies import Unhurried, beginning_of, held, pieces_of, until, whole_of
from ragcore.openrag.completions import Chunk, chunk_of_answer, chunks_of_stream
from ragcore.openrag.errors import error_of, upload_error
from ragcore.openrag.listing import files_of_partition, files_of_workspace
from ragcore.openrag.passages import Passage, passages_of

CONNECT_TIMEOUT = 5.0  # seconds
PASSED_ON_TIMEOUT = 300.0  # seconds between two bytes of what is passed on
READ_TIMEOUT = 60.0  # seconds between two bytes of an answer, chat aside
ANSWERED_WITHIN = 300.0  # seconds from the request to the end of its answer
UPLOADED_WITHIN = 3600.0  # the same, with a file

SUCCESS = {"GET": (200,), "POST": (200, 201), "PUT": (200, 201, 202), "PATCH": (200,), "DELETE": (200, 204)}
BARE = (201, 204)  # may have no body

Json = dict[str, Any]


@dataclass(frozen=True)
class Upload:
    """A file as it is sent: `metadata` comes back with the sources and the callback."""

    file_id: str
    filename: str
    content: BinaryIO | Checked
    mime: str
    metadata: Json
    callback_url: str = ""  # none is called then
    callback_token: str = ""
    workspace_ids: tuple[str, ...] = ()


class OpenRag:
    """Raises NotFound for a 404, Refused for 400, 413, 415 and 422, Retryable for all else that is no success."""

    def __init__(self, session: requests.Session, server: RagServer, partition: str) -> None:
        self._session = session
        self._url = server.url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {server.api_key.get_secret_value()}"}
        self.partition = partition
        self._partition = f"partition/{_segment(partition)}"

    # Partitions and workspaces

    def create_partition(self) -> None:
        """One that exists is fine."""
        self._call("POST", self._partition, fine=(409,))

    def delete_partition(self) -> None:
        """With all its files and workspaces. One that is gone is fine."""
        self._call("DELETE", self._partition, fine=(404,))

    def files(self, workspace_id: str = "") -> Iterator[str]:
        """The ids of all files, or of a workspace's, as they come; none where there is no partition.

        Raises NotFound for a workspace that is not there; Retryable, also on the way.
        """
        if workspace_id:
            path = f"{self._partition}/workspaces/{_segment(workspace_id)}/files"
            yield from self._stream(path, files_of_workspace)
        else:
            with suppress(NotFound):
                yield from self._stream(self._partition, files_of_partition)

    def workspaces(self) -> set[str] | None:
        """The ids of the partition's workspaces; None when there is no partition yet."""
        try:
            listed = self._list(f"{self._partition}/workspaces", "workspaces")
        except NotFound:
            return None
        return {workspace["workspace_id"] for workspace in listed}

    def has_workspace(self, workspace_id: str) -> bool:
        return self._exists(f"{self._partition}/workspaces/{_segment(workspace_id)}")

    def create_workspace(self, workspace_id: str, display_name: str) -> None:
        """Raises Retryable when the id is taken by another partition: only a GET tells."""
        body = {"workspace_id": workspace_id, "display_name": display_name}
        response = self._call("POST", f"{self._partition}/workspaces", fine=(409,), json=body)
        if response.status_code == 409 and not self.has_workspace(workspace_id):
            raise Retryable(f"the workspace id {workspace_id} is taken by another partition of the openRAG server")

    def delete_workspace(self, workspace_id: str, keep_files: bool = False) -> None:
        """Deletes the files left in no workspace too, unless `keep_files`. One that is gone is fine."""
        params = {"keep_files": "true"} if keep_files else None
        path = f"{self._partition}/workspaces/{_segment(workspace_id)}"
        self._call("DELETE", path, fine=(404,), params=params)

    def add_to_workspace(self, workspace_id: str, file_id: str) -> None:
        path = f"{self._partition}/workspaces/{_segment(workspace_id)}/files"
        self._call("POST", path, json={"file_ids": [file_id]})

    def remove_from_workspace(self, workspace_id: str, file_id: str) -> None:
        """A membership that is gone is fine."""
        path = f"{self._partition}/workspaces/{_segment(workspace_id)}/files/{_segment(file_id)}"
        self._call("DELETE", path, fine=(404,))

    def file_workspaces(self, file_id: str) -> set[str]:
        """Raises NotFound when the file is unknown."""
        return set(self._list(f"{self._partition}/files/{_segment(file_id)}/workspaces", "workspace_ids"))

    # Files

    def file_metadata(self, file_id: str) -> Json | None:
        """What was sent at the upload; None when the file is unknown or its first task still runs."""
        try:
            metadata = self._json("GET", f"{self._partition}/file/{_segment(file_id)}").get("metadata")
        except NotFound:
            return None
        return metadata if isinstance(metadata, dict) else {}

    def create_file(self, upload: Upload) -> None:
        """POST. Raises Exists (send it with PUT), Duplicate, NotFound (a workspace is gone) and as all calls."""
        self._upload("POST", upload)

    def replace_file(self, upload: Upload) -> None:
        """PUT: the memberships stay, on current servers. Raises Duplicate, NotFound and as all calls."""
        self._upload("PUT", upload)

    def update_metadata(self, file_id: str, metadata: Json) -> None:
        """PATCH: nothing is indexed again."""
        form = MultipartEncoder({"metadata": json.dumps(metadata)})
        self._call("PATCH", self._file(file_id), data=form, headers={"Content-Type": form.content_type})

    def delete_file(self, file_id: str) -> bool:
        """False for one that is not there, or not yet: its first indexing may run."""
        return self._call("DELETE", self._file(file_id), fine=(404,)).status_code != 404

    def supported_types(self) -> Json:
        return self._json("GET", "indexer/supported/types")

    def _file(self, file_id: str) -> str:
        return f"indexer/{self._partition}/file/{_segment(file_id)}"

    def _upload(self, method: str, upload: Upload) -> None:
        # streamed: the encoder reads the file a piece at a time, where `files=` would read it whole
        form = MultipartEncoder(list(_fields(method, upload)))
        headers = {"Content-Type": form.content_type}
        response = self._answer(UPLOADED_WITHIN, method, self._file(upload.file_id), data=form, headers=headers)
        if response.status_code not in SUCCESS[method] or not _is_json(response):
            raise upload_error(response, upload.file_id)

    # Search

    def search(
        self, text: str, top_k: int, threshold: float, workspace_id: str = "", call: Abortable | None = None
    ) -> list[Passage]:
        """The passages of the partition, or of a workspace, that fit a text, best first. Raises NotFound."""
        return self._search("", text, top_k, threshold, {"workspace": workspace_id} if workspace_id else {}, call)

    def search_file(
        self, file_id: str, text: str, top_k: int, threshold: float, call: Abortable | None = None
    ) -> list[Passage]:
        """The passages of a file that fit a text, best first. Raises NotFound."""
        return self._search(f"/file/{_segment(file_id)}", text, top_k, threshold, {}, call)

    def _search(
        self, file: str, text: str, top_k: int, threshold: float, more: dict[str, str], call: Abortable | None
    ) -> list[Passage]:
        params: Json = {"text": text, "top_k": top_k, "similarity_threshold": threshold, **more}
        found = self._list(f"search/{self._partition}{file}", "documents", params=params, call=call)
        return passages_of(found, self.partition)

    # Chat

    @contextmanager
    def chat(
        self, body: Json, headers_timeout: float, silence_timeout: float, timeout: float, call: Abortable
    ) -> Iterator[Iterator[Chunk]]:
        """The chunks of a completion, one for an unstreamed one; leaving the context, or `call.abort()`, closes the
        connection.

        In seconds: until the headers, between two pieces of the body, and in all. Raises Retryable for each.
        """
        deadline = time.monotonic() + timeout
        call.abort_after(min(headers_timeout, timeout))
        with (
            call.under_way(),
            self._request(
                "POST",
                "v1/chat/completions",
                json=body,
                timeout=(CONNECT_TIMEOUT, min(headers_timeout, timeout)),
                headers={"Accept-Encoding": "identity"},  # a compressed stream would come late
            ) as response,
        ):
            call.abort_after(deadline - time.monotonic())
            pieces = until(deadline, silence_timeout, call, pieces_of(response))
            if response.status_code != 200:
                raise error_of(response, beginning_of(pieces))
            yield chunks_of_stream(pieces) if body.get("stream") else iter([chunk_of_answer(whole_of(pieces))])

    def pass_on(self, path: str, data: Any, headers: dict[str, str]) -> requests.Response:
        """What it answers to a POST of somebody else, its body still to be read: anything but a redirection.

        Raises Failed for that, and when it does not answer.
        """
        headers = headers | {"Accept-Encoding": "identity"}  # a compressed stream would come late
        try:
            response = self._request(
                "POST", path, data=data, headers=headers, timeout=(CONNECT_TIMEOUT, PASSED_ON_TIMEOUT)
            )
        except Retryable as error:
            raise Failed(str(error)) from error
        if "Location" in response.headers and 300 <= response.status_code < 400:  # a client would send all of it there
            response.close()
            raise Failed(f"openRAG answered {response.status_code}")
        return response

    def passage(self, passage_id: str) -> Json:
        """A passage of this partition: `page_content` and `metadata`.

        Raises NotFound, also for one of another partition, which the key may well be allowed to see.
        """
        try:
            response = self._call("GET", f"extract/{_segment(passage_id)}", fine=(403,))
        except Refused:  # no id of a passage
            raise NotFound("there is no such passage") from None
        passage = _object_of(response)
        content, metadata = passage.get("page_content"), passage.get("metadata")
        theirs = not isinstance(metadata, dict) or metadata.get("partition") != self.partition
        if response.status_code == 403 or theirs or not isinstance(content, str):
            raise NotFound("there is no such passage")
        return {"page_content": content, "metadata": metadata}

    # Plumbing

    def _json(self, method: str, path: str, **kwargs: Any) -> Json:
        return _object_of(self._call(method, path, **kwargs))

    def _list(self, path: str, name: str, **kwargs: Any) -> list[Any]:
        """Unknown is not empty: an answer without the list is no answer."""
        listed = self._json("GET", path, **kwargs).get(name)
        if not isinstance(listed, list):
            raise Retryable(f"openRAG gave an answer without {name}")
        return listed

    def _stream(self, path: str, parse: Callable[[BinaryIO], Iterator[str]]) -> Iterator[str]:
        call = Abortable()
        call.abort_after(ANSWERED_WITHIN)
        with call.under_way(), self._request("GET", path) as response:
            if response.status_code != 200:
                raise error_of(held(response))
            yield from parse(cast(BinaryIO, Unhurried(response, call)))

    def _exists(self, path: str) -> bool:
        try:
            self._call("GET", path)
        except NotFound:
            return False
        return True

    def _call(self, method: str, path: str, fine: Iterable[int] = (), **kwargs: Any) -> requests.Response:
        """An answer that is not openRAG's (a redirect, a login page) is no success, whatever its status."""
        response = self._answer(ANSWERED_WITHIN, method, path, **kwargs)
        expected = response.status_code in (*SUCCESS[method], *fine)
        if not expected or not (_is_json(response) or response.status_code in BARE):
            raise error_of(response)
        return response

    def _answer(
        self, within: float, method: str, path: str, call: Abortable | None = None, **kwargs: Any
    ) -> requests.Response:
        """With its body, `within` seconds."""
        call = call or Abortable()
        call.abort_after(within)
        with call.under_way(), self._request(method, path, **kwargs) as response:
            return held(response)

    def _request(self, method: str, path: str, **kwargs: Any) -> requests.Response:
        """Its body is still to be read: what requests would read by itself it unpacks whole, a thousand times what was
        sent."""
        headers = self._headers | kwargs.pop("headers", {})
        kwargs.setdefault("timeout", (CONNECT_TIMEOUT, READ_TIMEOUT))
        kwargs.setdefault("allow_redirects", method == "GET")  # others would become a GET
        try:
            return self._session.request(method, f"{self._url}/{path}", headers=headers, stream=True, **kwargs)
        except requests.RequestException as error:
            kind = Retryable if _was_not_sent(error) else Unanswered
            raise kind(f"openRAG does not answer ({type(error).__name__})") from error


def _was_not_sent(error: requests.RequestException) -> bool:
    """Whether there was no connection to send it on."""
    reason = getattr(error.args[0], "reason", None) if error.args else None
    return isinstance(error, requests.ConnectTimeout) or isinstance(reason, NewConnectionError)


def _segment(name: str) -> str:
    if name in (".", ".."):
        raise Refused(f"{name!r} is no id")  # a step of a path: another resource would answer
    return quote(name, safe="")


def _object_of(response: requests.Response) -> Json:
    """Raises Retryable."""
    try:
        body = response.json()
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise Retryable("openRAG gave an answer that is not a JSON object")
    return body


def _is_json(response: requests.Response) -> bool:
    try:
        json.loads(response.content)
    except (ValueError, RecursionError):
        return False
    return True


def _fields(method: str, upload: Upload) -> Iterator[tuple[str, Any]]:
    yield "metadata", json.dumps(upload.metadata)
    if method == "POST":
        yield "workspace_ids", json.dumps(upload.workspace_ids)
    if upload.callback_url:
        yield "callback_url", upload.callback_url
        yield "callback_token", upload.callback_token
    # the encoder escapes what would end the name, and no backslash: a name that ends in one would be cut off
    yield "file", (upload.filename.replace("\\", r"\\"), upload.content, upload.mime)
