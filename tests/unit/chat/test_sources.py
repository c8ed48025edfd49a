from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.chat import sources

from_openrag = partial(sources.from_openrag, partition="alice")

CHUNK = {
    "file_id": "f1",
    "doctype": "io.cozy.files",
    "filename": "a.pdf",
    "page": 2,
    "datetime": "2026-01-01",
    "email.subject": "s",
    "email.preview": "p",
    "parent_id": "d",
    "relationship_id": "r",
}
LINKS = {"chunk_url": "http://c", "file_url": "http://f"}
OURS = {
    "sourceType": "document",
    "id": "f1",
    "doctype": "io.cozy.files",
    "filename": "a.pdf",
    "page": 2,
    "datetime": "2026-01-01",
    "email.subject": "s",
    "email.preview": "p",
    "parent_id": "d",
    "relationship_id": "r",
    "fileUrl": "http://f",
    "chunkUrl": "http://c",
}


@pytest.mark.parametrize(
    "source",
    [
        {"source_type": "document", "chunk": CHUNK, "rerank_score": 0.5, **LINKS},
        {"source_type": "document", "rerank_score": 0.5, **CHUNK, **LINKS},
        {"source_type": "document", "chunk": None, **CHUNK, **LINKS},
    ],
    ids=["nested", "flat", "flat with a chunk that is none"],
)
def test_a_document(source: dict[str, Any]) -> None:
    assert from_openrag([source]) == [OURS]


def test_a_web_page() -> None:
    source = {"source_type": "web", "url": "http://w", "title": "t", "snippet": "s", "score": 1}
    assert from_openrag([source]) == [
        {"sourceType": "web", "doctype": "io.cozy.urls", "url": "http://w", "title": "t", "snippet": "s"}
    ]


def test_what_is_unknown_is_left_out() -> None:
    chunk = {"file_id": "f1", "page": None, "filename": "", "datetime": None}
    assert from_openrag([{"source_type": "document", "chunk": chunk, "file_url": ""}]) == [
        {"sourceType": "document", "id": "f1"}
    ]


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "java\nscript:x", "file:///etc/passwd", "data:text/html,x", "//h/x", "x", " http://h", 3],
)
def test_a_url_that_is_not_of_the_web_is_left_out(url: object) -> None:
    assert from_openrag([{"source_type": "web", "url": url, "title": "t"}]) == [
        {"sourceType": "web", "doctype": "io.cozy.urls", "title": "t"}
    ]
    assert from_openrag(
        [{"source_type": "document", "chunk": {"file_id": "f"}, "file_url": url, "chunk_url": url}]
    ) == [{"sourceType": "document", "id": "f"}]


def test_a_document_of_another_partition_is_left_out() -> None:
    theirs, ours = ({"source_type": "document", "chunk": {"file_id": p, "partition": p}} for p in ("bob", "alice"))
    flat = {"source_type": "document", "file_id": "f", "partition": "bob"}
    assert from_openrag([theirs, ours, flat]) == [{"sourceType": "document", "id": "alice"}]


def test_page_0_is_a_page() -> None:
    assert from_openrag([{"source_type": "document", "chunk": {"page": 0}}])[0]["page"] == 0


@pytest.mark.parametrize("source", [{}, {"source_type": "audio"}, {"source_type": None}, {"chunk": CHUNK}])
def test_a_source_of_no_known_type_is_left_out(source: dict[str, Any]) -> None:
    assert from_openrag([source, {"source_type": "web", "url": "u"}]) == from_openrag(
        [{"source_type": "web", "url": "u"}]
    )


values = st.none() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)
keys = st.sampled_from([*CHUNK, *LINKS, "source_type", "url", "title", "snippet", "chunk", "other"])
types = st.fixed_dictionaries({"source_type": st.sampled_from(["document", "web", "x"])})
sources = st.builds(
    lambda type_, fields: fields | type_,
    types,
    st.dictionaries(keys, values | st.dictionaries(keys, values, max_size=4), max_size=6),
)


@given(st.lists(sources, max_size=4))
def test_a_source_of_any_shape(given: list[dict[str, Any]]) -> None:
    made = from_openrag(given)
    assert len(made) == sum(source["source_type"] != "x" for source in given)
    for source in made:
        assert source["sourceType"] in ("document", "web")
        assert set(source) <= {*OURS, "url", "title", "snippet"}
        assert None not in source.values()
