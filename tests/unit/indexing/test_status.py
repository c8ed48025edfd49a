from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import Invalid
from ragcore.indexing.status import Callback

BODY = {"partition": "d", "file_id": "f", "status": "success", "metadata": {"doc_rev": "3-a", "doctype": "x"}}


@pytest.mark.parametrize("status", ["success", "error", "notsupported"])
def test_a_callback(status: str) -> None:
    assert Callback.parse({**BODY, "status": status, "other": 3}, "d") == Callback("f", status, "3-a")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (None, ""),
        ([], ""),
        ("x", ""),
        ({}, "/partition"),
        ({**BODY, "partition": "e"}, "/partition"),
        ({**BODY, "partition": None}, "/partition"),
        ({**BODY, "partition": ["d"]}, "/partition"),
        ({**BODY, "file_id": ""}, "/file_id"),
        ({**BODY, "file_id": 3}, "/file_id"),
        ({**BODY, "file_id": "_design/x"}, "/file_id"),
        ({**BODY, "file_id": "_local/x"}, "/file_id"),
        ({**BODY, "file_id": "x" * 257}, "/file_id"),
        ({k: v for k, v in BODY.items() if k != "file_id"}, "/file_id"),
        ({**BODY, "status": "SUCCESS"}, "/status"),
        ({**BODY, "status": ""}, "/status"),
        ({**BODY, "status": ["success"]}, "/status"),
        ({**BODY, "status": None}, "/status"),
        ({**BODY, "metadata": None}, "/metadata/doc_rev"),
        ({**BODY, "metadata": []}, "/metadata/doc_rev"),
        ({**BODY, "metadata": {}}, "/metadata/doc_rev"),
        ({**BODY, "metadata": {"doc_rev": 3}}, "/metadata/doc_rev"),
        ({**BODY, "metadata": {"doc_rev": ""}}, "/metadata/doc_rev"),
        ({**BODY, "metadata": {"doc_rev": "0-a"}}, "/metadata/doc_rev"),
        ({**BODY, "metadata": {"doc_rev": "x-a"}}, "/metadata/doc_rev"),
    ],
)
def test_a_callback_that_cannot_be_placed(body: Any, pointer: str) -> None:
    with pytest.raises(Invalid) as caught:
        Callback.parse(body, "d")
    assert caught.value.pointer == pointer


def test_a_revision_of_too_many_digits() -> None:
    with pytest.raises(Invalid):
        Callback.parse({**BODY, "metadata": {"doc_rev": "1" * 5000 + "-a"}}, "d")


@pytest.mark.parametrize("file_id", [".", ".."])
def test_a_file_id_that_is_a_step_of_a_path(file_id: str) -> None:
    with pytest.raises(Invalid):
        Callback.parse({**BODY, "file_id": file_id}, "d")


values = st.none() | st.integers() | st.text(max_size=4) | st.sampled_from(["d", "success", "1-a"])


@given(
    st.dictionaries(
        st.sampled_from(["partition", "file_id", "status", "metadata"]),
        values | st.lists(values, max_size=2) | st.dictionaries(st.just("doc_rev"), values),
    )
)
def test_any_body_is_a_callback_or_invalid(body: Any) -> None:
    try:
        callback = Callback.parse(body, "d")
    except Invalid:
        return
    assert body["partition"] == "d"
    assert callback.file_id
    assert not callback.file_id.startswith("_")
