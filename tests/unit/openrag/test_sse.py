from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.openrag import sse
from ragcore.openrag.sse import EventTooLarge, data_of

# U+0085, U+2028 and others are line ends to str.splitlines, and text to server-sent events
texts = st.text(alphabet="ab:é€😀 \t\u0085\u2028\u2029\x0b\x0c", max_size=12)
line_ends = st.sampled_from([b"\n", b"\r\n"])


def cut(data: bytes, at: list[int]) -> list[bytes]:
    places = sorted({place % (len(data) + 1) for place in at} | {0, len(data)})
    return [data[a:b] for a, b in zip(places, places[1:], strict=False)]


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[str], bytes]:
    """Some events, and bytes that say them: comments, other fields and empty events in between."""
    events, written = [], b""
    for _ in range(draw(st.integers(0, 5))):
        lines = draw(st.lists(texts, min_size=1, max_size=3))
        events.append("\n".join(lines))
        for line in lines:
            noise = draw(st.sampled_from([b"", b": ping", b":", b"event: x", b"id: 3", b"datum: y", b"Data: z"]))
            written += (noise + draw(line_ends)) if noise else b""
            # the space may lack where the text does not begin with one
            space = b" " if line.startswith(" ") or draw(st.booleans()) else b""
            written += b"data:" + space + line.encode() + draw(line_ends)
        written += b"".join(draw(st.lists(line_ends, min_size=1, max_size=3)))
    return events, written


@given(streams(), st.lists(st.integers(0, 10_000), max_size=8))
def test_events_are_the_same_under_any_cut_of_the_bytes(stream: tuple[list[str], bytes], at: list[int]) -> None:
    events, written = stream
    assert list(data_of(cut(written, at))) == events


@given(streams())
def test_events_are_the_same_byte_by_byte(stream: tuple[list[str], bytes]) -> None:
    events, written = stream
    assert list(data_of(bytes([byte]) for byte in written)) == events


@given(st.lists(st.binary(max_size=40), max_size=6))
def test_any_bytes_are_read(pieces: list[bytes]) -> None:
    assert list(data_of(pieces)) == list(data_of([b"".join(pieces)]))


@pytest.mark.parametrize(
    ("written", "events"),
    [
        (b"", []),
        (b"\n\n\r\n", []),
        (b": only a comment\n\n", []),
        (b"event: x\n\n", []),
        (b"data: a\n\n", ["a"]),
        (b"data:a\n\n", ["a"]),
        (b"data:  a\n\n", [" a"]),
        (b"data:\n\n", [""]),
        (b"data: a\r\n\r\n", ["a"]),
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b"data: a\n: ping\ndata: b\n\n", ["a\nb"]),
        (b"data: a\n\n\n\ndata: b\n\n", ["a", "b"]),
        (b"data: a\n\ndata: [DONE]", ["a", "[DONE]"]),
        (b"data: cut", ["cut"]),
        (b"data: cut\r", ["cut"]),
        ("data: a\u2028b\u0085c\n\n".encode(), ["a\u2028b\u0085c"]),
        (b"data: a\rb\n\n", ["a\rb"]),
        (b"data: \xff\n\n", ["\ufffd"]),
        (b"data: \xe2\x82\n\n", ["\ufffd"]),
    ],
)
def test_events_by_example(written: bytes, events: list[str]) -> None:
    assert list(data_of([written])) == events


def test_an_event_is_given_before_the_next_piece_is_asked_for() -> None:
    asked = []

    def pieces():
        for piece in (b"data: a\n\nda", b"ta: b\n\n"):
            asked.append(piece)
            yield piece

    stream = data_of(pieces())
    assert next(stream) == "a"
    assert len(asked) == 1


def test_an_event_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT", 20)
    assert list(data_of([b"data: " + b"x" * 10 + b"\n\n"] * 5)) == ["x" * 10] * 5
    with pytest.raises(EventTooLarge):
        list(data_of([b"data: ", b"x" * 10, b"x" * 10]))
    with pytest.raises(EventTooLarge):
        list(data_of([b"data: xxxxxx\n"] * 4))


@given(st.lists(st.binary(max_size=12) | st.sampled_from([b"data: xxxxxxx\n", b"\n", b": x"]), max_size=12))
def test_no_more_than_an_event_is_kept(pieces: list[bytes]) -> None:
    """Nor is an event given that is larger, however its bytes come: it ends in EventTooLarge at the latest then."""
    with pytest.MonkeyPatch.context() as patch, suppress(EventTooLarge):
        patch.setattr(sse, "MAX_EVENT", 20)
        events = list(data_of(pieces))
        assert all(len(event.encode()) <= 3 * 20 for event in events)  # a byte that is no UTF-8 becomes three
