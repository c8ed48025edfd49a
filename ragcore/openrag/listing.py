"""Lists of files, read as they come: memory does not grow with them."""

from collections.abc import Iterator
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

import ijson
from urllib3.exceptions import HTTPError

from ragcore.errors import Retryable

FILE = "files.item"

Events = Iterator[tuple[str, str, Any]]


def files_of_partition(body: BinaryIO) -> Iterator[str]:
    """The ids in `{"files": [{"file_id", "link"}]}`; older servers give the link alone.

    Raises Retryable for what is not the whole list: unknown is not empty.
    """
    entry: dict[str, Any] = {}
    for prefix, event, value in _whole(body, "files"):
        if (prefix, event) == (FILE, "start_map"):
            entry = {}
        elif prefix in (f"{FILE}.file_id", f"{FILE}.link"):
            entry[prefix.removeprefix(f"{FILE}.")] = value
        elif (prefix, event) == (FILE, "end_map"):
            yield _id_of(entry)
        elif prefix == FILE and event != "map_key":
            raise Retryable("openRAG listed something that is no file")


def files_of_workspace(body: BinaryIO) -> Iterator[str]:
    """The ids in `{"file_ids": [...]}`. Raises as above."""
    for prefix, event, value in _whole(body, "file_ids"):
        if (prefix, event) == ("file_ids.item", "string"):
            yield value
        elif prefix == "file_ids.item":
            raise Retryable("openRAG listed something that is no file")


def _whole(body: BinaryIO, name: str) -> Events:
    """What the parser sees. Raises Retryable when the body breaks off, or has no list of that name."""
    whole = False
    try:
        for prefix, event, value in ijson.parse(body):
            whole = whole or (prefix, event) == (name, "end_array")
            yield prefix, event, value
    except (ijson.JSONError, HTTPError, OSError, UnicodeDecodeError) as error:
        raise Retryable(f"the list of files broke off ({type(error).__name__})") from error
    if not whole:
        raise Retryable(f"openRAG gave an answer without {name}")


def _id_of(entry: dict[str, Any]) -> str:
    """The id, else the last segment of the link. Raises Retryable for an entry that names no file."""
    if isinstance(file_id := entry.get("file_id"), str) and file_id:
        return file_id
    link = entry.get("link")
    segment = unquote(urlsplit(link).path.rstrip("/").rpartition("/")[2]) if isinstance(link, str) else ""
    if not segment:
        raise Retryable("openRAG listed a file without its id")
    return segment
