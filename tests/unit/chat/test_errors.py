import pytest

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
