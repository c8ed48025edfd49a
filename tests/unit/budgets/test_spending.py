"""What a call has used, by what the LLM says of it."""

from ragcore.budgets import Spending, Spent
from ragcore.budgets.spending import Call
from ragcore.openrag import Chunk, Usage


def tokens(*chunks: Chunk, asked: int = 0) -> int:
    call = Call(asked)
    for chunk in chunks:
        call.take(chunk)
    return call.tokens


def test_the_figures_of_the_llm_count() -> None:
    assert tokens(Chunk("Red."), Chunk(usage=Usage(90, 10, 100)), asked=4000) == 100


def test_of_figures_that_come_with_each_chunk_the_last_count() -> None:
    assert tokens(Chunk("Red", usage=Usage(90, 1, 91)), Chunk(".", usage=Usage(90, 2, 92))) == 92


def test_without_figures_four_characters_are_a_token() -> None:
    assert tokens(Chunk("12345678"), Chunk(reasoning="1234"), Chunk(done=True), asked=40) == 13
    assert tokens(Chunk("1")) == 1


def test_a_call_that_is_not_answered_uses_nothing() -> None:
    assert tokens(asked=4000) == 0


def test_without_a_plan_nothing_is_counted() -> None:
    spending = Spending()
    with spending.question([]), spending.call({"messages": []}) as call:
        call.take(Chunk("Red."))


def test_what_is_told_of_a_spent_budget() -> None:
    spent = Spent("free", "2100-01-02T00:00:00.000Z", "https://example.net/")
    assert str(spent) == "Daily AI budget reached"
    assert spent.retry_after > 3600
    told = {"resetAt": "2100-01-02T00:00:00.000Z", "plan": "free", "upgradeUrl": "https://example.net/"}
    assert spent.fields() == Spent.of(told).fields() == told
    assert Spent("pro", "2020-01-02T00:00:00.000Z").retry_after == 1
    assert Spent("pro", "2020-01-02T00:00:00.000Z").fields()["upgradeUrl"] is None
