import json

from ragcore.agent.calling import _named
from ragcore.agent.tools import Result
from ragcore.agent.turn import Turn
from ragcore.chat.calls import Call
from ragcore.openrag import Passage

CALL = Call("c", "search_knowledge_base", "")


def test_passages_are_numbered_through_and_each_once() -> None:
    turn = Turn()
    one, two, three = (Passage(f"f{n}", f"Text {n}.", {"filename": f"{n}.txt"}) for n in (1, 2, 3))
    for found in ([one, two], [two, three]):
        turn.add_result(CALL, Result({"found": 2}, {}, found))
    told = [json.loads(message["content"])["passages"] for message in turn.messages]
    assert [[passage["number"] for passage in passages] for passages in told] == [[1, 2], [2, 3]]
    assert turn.passages == [one, two, three]


def test_calls_are_told_as_the_llm_made_them() -> None:
    turn = Turn()
    turn.add_calls([CALL])
    (message,) = turn.messages
    function = {"name": "search_knowledge_base", "arguments": "{}"}
    assert message["tool_calls"] == [{"id": "c", "type": "function", "function": function}]


def test_each_call_has_an_id_of_its_own() -> None:
    calls = [Call(call_id, "x" * 100, "") for call_id in ("a", "", "a", "y" * 100)]
    ids: set[str] = set()
    named = _named(calls, before=2, seen=ids)
    assert [call.id for call in named] == ["a", "call_4", "call_5", "call_6"]
    assert [call.id for call in _named(calls[:1], before=6, seen=ids)] == ["call_7"]  # of the next completion
    assert {len(call.name) for call in named} == {64}


def test_an_id_that_is_made_is_none_that_the_llm_has_given() -> None:
    calls = [Call(call_id, "x", "") for call_id in ("call_2", "", "")]
    assert [call.id for call in _named(calls, before=0, seen=set())] == ["call_2", "call_3", "call_4"]
