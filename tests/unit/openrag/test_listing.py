"""The list of a partition's files, however it comes."""

import io
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from urllib3.exceptions import IncompleteRead, ProtocolError

from ragcore.errors import Retryable
from ragcore.openrag.listing import files_of_partition

IDS = st.text(st.characters(codec="utf-8"), min_size=1)
LINKS = st.sampled_from(["http://openrag:8000/partition/a/file/", "/partition/a.b/file/"])


class Chunked(io.RawIOBase):
    """A body that comes in pieces of its own sizes, and may break at its end."""

    def __init__(self, pieces: list[bytes], error: Exception | None = None) -> None:
        self._pieces = [piece for piece in pieces if piece]
        self._error = error

    def readinto(self, buffer: Any) -> int:
        if not self._pieces:
            if self._error:
                raise self._error
            return 0
        piece = self._pieces.pop(0)
        taken, left = piece[: len(buffer)], piece[len(buffer) :]
        if left:
            self._pieces.insert(0, left)
        buffer[: len(taken)] = taken
        return len(taken)


def entry(file_id: str, link: str, with_id: bool) -> dict[str, Any]:
    linked = {"link": link + quote(file_id, safe=""), "filename": "x.txt", "more": {"file_id": "inner", "n": [1, {}]}}
    return linked | ({"file_id": file_id} if with_id else {})


@st.composite
def listings(draw: st.DrawFn) -> tuple[list[str], bytes]:
    """The ids, and the body that lists them."""
    ids = draw(st.lists(IDS, max_size=8))
    entries = [entry(file_id, draw(LINKS), draw(st.booleans())) for file_id in ids]
    more = draw(st.dictionaries(st.sampled_from(["count", "partition", "next"]), st.integers()))
    body = dict(draw(st.permutations([("files", entries), *more.items()])))
    return ids, json.dumps(body, ensure_ascii=draw(st.booleans())).encode()


def pieces(body: bytes, cuts: list[int]) -> Iterator[bytes]:
    places = sorted({cut % (len(body) + 1) for cut in cuts})
    for start, end in zip([0, *places], [*places, len(body)], strict=True):
        yield body[start:end]


@given(listings(), st.lists(st.integers(min_value=0)))
def test_the_ids_are_the_same_however_the_bytes_come(listed: tuple[list[str], bytes], cuts: list[int]) -> None:
    ids, body = listed
    assert list(files_of_partition(Chunked(list(pieces(body, cuts))))) == ids


@given(listings(), st.integers(min_value=0))
def test_a_list_that_ends_too_early_is_no_list(listed: tuple[list[str], bytes], cut: int) -> None:
    ids, body = listed
    found: list[str] = []
    with pytest.raises(Retryable):
        found.extend(files_of_partition(io.BytesIO(body[: cut % len(body)])))


@pytest.mark.parametrize("error", [IncompleteRead(3, 5), ProtocolError("broken"), ConnectionResetError()])
def test_a_connection_that_breaks_is_told_after_what_came(error: Exception) -> None:
    found: list[str] = []
    with pytest.raises(Retryable) as raised:
        found.extend(files_of_partition(Chunked([b'{"files": [{"file_id": "a"}, {"file_id": "b"}'], error)))
    assert "broken" not in str(raised.value)
    assert set(found) <= {"a", "b"}


@pytest.mark.parametrize(
    "body",
    ["", " ", "null", "[]", "{}", '{"files": null}', '{"files": {}}', '{"files": "a"}', '{"files": 1}', '{"file": []}',
     "<html>sign in</html>", '{"files": []', '{"files": [}', '{"files": [{"file_id": "a"},]}', '{"a": {"files": []}}',
     '{"files": [{}]}', '{"files": [{"file_id": ""}]}', '{"files": [{"file_id": 7}]}', '{"files": [{"link": ""}]}',
     '{"files": [{"link": 7}]}', '{"files": [{"link": "/"}]}', '{"files": [{"file_id": null, "link": null}]}',
     '{"files": ["a"]}', '{"files": [null]}', '{"files": [["a"]]}', '{"files": []} {"files": []}', '{"files": []} x'],
)  # fmt: skip
def test_what_is_no_list(body: str) -> None:
    with pytest.raises(Retryable):
        list(files_of_partition(io.BytesIO(body.encode())))


@pytest.mark.parametrize("body", [b'{"files": [{"file_id": "\xff"}]}', b"\x1f\x8b\x08"])
def test_bytes_that_are_no_text(body: bytes) -> None:
    with pytest.raises(Retryable):
        list(files_of_partition(io.BytesIO(body)))


@pytest.mark.parametrize(
    ("entry", "file_id"),
    [
        ({"file_id": "a", "link": "http://o/partition/p/file/b"}, "a"),
        ({"link": "http://o/partition/p/file/b"}, "b"),
        ({"link": "http://o/partition/p/file/b/"}, "b"),
        ({"link": "/partition/p/file/a%2Fb%20c%3F"}, "a/b c?"),
        ({"file_id": None, "link": "/file/b?x=/y#z"}, "b"),
        ({"file_id": "a", "link": None}, "a"),
        ({"file_id": "a/b é"}, "a/b é"),
    ],
)
def test_an_id_or_else_the_end_of_a_link(entry: dict[str, Any], file_id: str) -> None:
    assert list(files_of_partition(io.BytesIO(json.dumps({"files": [entry]}).encode()))) == [file_id]


def test_an_empty_list_is_one() -> None:
    assert list(files_of_partition(io.BytesIO(b'{"files": []}'))) == []


def test_the_ids_come_before_the_body_has_ended() -> None:
    """Memory does not grow with the list."""
    first = json.dumps({"files": [{"file_id": str(n), "pad": "x" * 100} for n in range(2000)]}).encode()
    body = Chunked([first[n : n + 1000] for n in range(0, len(first), 1000)])
    assert next(files_of_partition(body)) == "0"
    assert sum(map(len, body._pieces)) > len(first) / 2
