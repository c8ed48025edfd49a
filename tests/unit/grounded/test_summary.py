from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ragcore.grounded.prompt import WINDOW
from ragcore.grounded.summary import fallen_out, is_due, summary_in


def conversation(pairs: int, **summary: Any) -> dict[str, Any]:
    messages = [
        {"id": f"{kind}{n}", "role": role, "content": f"{kind}{n}"}
        for n in range(pairs)
        for kind, role in (("q", "user"), ("a", "assistant"))
    ]
    return {"messages": messages} | ({"summary": summary} if summary else {})


def fallen(doc: dict[str, Any]) -> list[str]:
    return [answer["id"] for _, answer in fallen_out(doc)]


def test_what_fell_out_of_the_window_since() -> None:
    assert fallen(conversation(WINDOW)) == []
    assert fallen(conversation(WINDOW + 2)) == ["a0", "a1"]
    assert fallen(conversation(WINDOW + 3, text="S", upTo="a1")) == ["a2"]
    assert fallen(conversation(WINDOW + 3, text="S", upTo="a2")) == []
    assert not is_due(conversation(WINDOW + 3, text="S", upTo="a2"))


def test_where_its_mark_is_gone_it_does_not_begin_anew() -> None:
    assert fallen(conversation(WINDOW + 3, text="S", upTo="gone")) == ["a2"]


@given(st.integers(0, 20), st.integers(0, 20))
def test_nothing_is_in_both_or_in_neither(pairs: int, reached: int) -> None:
    summed = min(reached, max(pairs - WINDOW, 0))
    doc = conversation(pairs, **({"text": "S", "upTo": f"a{summed - 1}"} if summed else {}))
    assert fallen(doc) == [f"a{n}" for n in range(summed, max(pairs - WINDOW, 0))]


def test_what_clients_wrote_there_is_no_summary() -> None:
    for odd in (3, [], {"text": 3}):
        assert summary_in({"summary": odd}) == ""
    assert summary_in(conversation(1, text="S")) == "S"
