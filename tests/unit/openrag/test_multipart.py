"""Any name, metadata and content of a file arrive as they were sent: another parser than the writer's reads them."""

import io
import json
from typing import Any

import requests
import responses
from hypothesis import example, given
from hypothesis import strategies as st
from werkzeug.datastructures import FileStorage, MultiDict
from werkzeug.formparser import FormDataParser
from werkzeug.http import parse_options_header

from ragcore.config import RagServer
from ragcore.openrag import OpenRag, Upload

URL = "http://openrag.test/indexer/partition/alice.localhost/file/f1"
QUOTED = {ord(char): f"%{ord(char):02X}" for char in '\r\n"'}  # as browsers do, so that no header begins
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
names = texts | st.text("a\"\\\r\n;='%é€😀\u2028 /", min_size=1, max_size=12)
metadata = st.dictionaries(names, st.recursive(names | st.integers() | st.none(), st.lists, max_leaves=4), max_size=4)


def sent(upload: Upload) -> tuple[MultiDict[str, str], MultiDict[str, FileStorage]]:
    """The fields and the files of what goes over the wire."""
    with responses.RequestsMock() as server:
        server.post(URL, status=201, json={"task_status_url": "/t"})
        OpenRag(requests.Session(), RagServer(url="http://openrag.test", api_key="k"), "alice.localhost").create_file(
            upload
        )
        request: Any = server.calls[0].request
    mimetype, options = parse_options_header(request.headers["Content-Type"])
    body = request.body
    assert len(body) == int(request.headers["Content-Length"])
    _, form, files = FormDataParser(silent=False).parse(io.BytesIO(body), mimetype, len(body), options)
    return form, files


@example("a\\", {}, [], b"")
@given(names, metadata, st.lists(names, max_size=3), st.binary(max_size=40))
@example('a";\r\nContent-Type: text/html\r\n\r\n<b>\r\n--', {"a\r\n": '"'}, ["w"], b"\r\n--x--\r\n")
def test_an_upload_is_read_as_it_was_written(
    name: str, told: dict[str, Any], workspaces: list[str], content: bytes
) -> None:
    upload = Upload("f1", name, io.BytesIO(content), "text/plain", told, "http://c/?a=1&b", "t", tuple(workspaces))
    form, files = sent(upload)
    assert json.loads(form["metadata"]) == told
    assert json.loads(form["workspace_ids"]) == workspaces
    assert (form["callback_url"], form["callback_token"]) == ("http://c/?a=1&b", "t")
    assert sorted(form) == ["callback_token", "callback_url", "metadata", "workspace_ids"]
    assert list(files) == ["file"]
    file = files["file"]
    assert file.read() == content
    assert (file.filename.replace('"', "%22"), file.mimetype) == (name.translate(QUOTED), "text/plain")
