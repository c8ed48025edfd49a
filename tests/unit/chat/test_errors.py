import pytest

from ragcore.budgets import Spent
from ragcore.chat.errors import UNAVAILABLE, AnswerError
from ragcore.errors import Conflict, Invalid, NotFound, RagcoreError, Refused, Retryable
from ragcore.openrag import TooLarge

HIDDEN = "http://openrag:8000 said s3cret"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (TooLarge(HIDDEN), "too_long"),
        (Refused(HIDDEN), "refused"),
        (NotFound(HIDDEN), "gone"),
        (Conflict(HIDDEN), "conflict"),
        (Retryable(HIDDEN), "unavailable"),
        (Invalid(HIDDEN), "internal"),
        (RagcoreError(HIDDEN), "internal"),
        (ValueError(HIDDEN), "internal"),
        (MemoryError(HIDDEN), "internal"),
    ],
)
def test_what_a_client_is_told(error: Exception, code: str) -> None:
    told = AnswerError.of(error)
    assert told.code == code
    assert str(told)
    assert "s3cret" not in str(told)


def test_an_error_that_is_fit_to_be_told_stays() -> None:
    error = AnswerError("not_indexed", "It is not indexed.")
    assert AnswerError.of(error) is error
    assert str(AnswerError.of(Retryable("x"))) == UNAVAILABLE


def test_of_a_spent_budget_it_is_told_until_when_and_where_there_is_more() -> None:
    told = AnswerError.of(Spent("free", "2100-01-01T00:00:00.000Z", "https://example.net/")).document()
    assert told == {
        "object": "error",
        "code": "budget",
        "message": "Daily AI budget reached",
        "resetAt": "2100-01-01T00:00:00.000Z",
        "plan": "free",
        "upgradeUrl": "https://example.net/",
    }
