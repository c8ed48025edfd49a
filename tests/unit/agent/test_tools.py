from typing import Any

import pytest

from ragcore.agent.agent import TOOLS
from ragcore.agent.recent import RECENT
from ragcore.agent.remember import SAVE
from ragcore.agent.search import SEARCH
from ragcore.agent.tools import definitions, shown
from ragcore.errors import Invalid


def test_there_are_the_four_of_the_seed() -> None:
    names = [definition["function"]["name"] for definition in definitions(TOOLS.values())]
    assert names == list(TOOLS)
    assert set(names) == {"get_workspace_stats", "list_recent_documents", "search_knowledge_base", "save_memory"}


def test_what_a_tool_does_not_know_is_left_out() -> None:
    assert SEARCH.checked({"query": "x", "since": None, "more": 3}) == {"query": "x"}


def test_a_whole_number_may_have_a_point() -> None:
    assert repr(RECENT.checked({"limit": 3.0})) == "{'limit': 3}"


def test_a_text_is_one_that_can_be_sent() -> None:
    assert SEARCH.checked({"query": "half of a pair \ud800"}) == {"query": "half of a pair \ufffd"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (None, "the arguments are no whole JSON object"),
        ({}, "text is required"),
        ({"text": "x"}, "confidence is required"),
        ({"text": " ", "confidence": 1}, "text: ' ' does not match"),
        ({"text": "x", "confidence": "high"}, "confidence: 'high' is not of type 'number'"),
        ({"text": "x", "confidence": True}, "confidence: True is not of type 'number'"),
    ],
)
def test_arguments_that_are_wrong(arguments: Any, says: str) -> None:
    with pytest.raises(Invalid, match="^" + says.replace("(", r"\(")):
        SAVE.checked(arguments)


def test_details_are_small() -> None:
    assert shown({"text": "x" * 1000, "limit": 3}) == {"text": "x" * 200, "limit": 3}
