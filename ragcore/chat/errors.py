"""Why a question gets no answer: a message for people, and a code for programs."""

from typing import Any

from ragcore.budgets import Spent
from ragcore.claims import Interrupted
from ragcore.errors import Conflict, NotFound, RagcoreError, Refused, Retryable
from ragcore.openrag import TooLarge

UNAVAILABLE = "The assistant cannot answer at the moment. Please try again later."


class AnswerError(RagcoreError):
    """`more` are fields of its event."""

    def __init__(self, code: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.code, self.more = code, more

    def document(self) -> dict[str, Any]:
        """The error event."""
        return {"object": "error", "message": str(self), "code": self.code, **self.more}

    @classmethod
    def of(cls, error: Exception) -> "AnswerError":
        """What the client is told of an error: nothing of the servers behind."""
        match error:
            case AnswerError():
                return error
            case Interrupted():
                return cls(*INTERRUPTED)
            case Spent():
                return cls(error.code, str(error), **error.fields())
            case TooLarge():
                return cls("too_long", "The conversation is too long for the assistant.")
            case Refused():
                return cls("refused", "The assistant cannot take this question.")
            case NotFound():  # the store's: openRAG's are told apart before
                return cls("gone", "The conversation does not exist any more.")
            case Conflict():
                return cls("conflict", "The answer could not be saved. Please ask again.")
            case Retryable():
                return cls("unavailable", UNAVAILABLE)
            case _:
                return cls("internal", "The assistant failed to answer. Please ask again.")


# codes and messages: an error that is raised again and again would keep all that it went through
INTERRUPTED = ("interrupted", "The answer was interrupted. Please ask again.")
LATE = ("late", "The question was asked too long ago. Please ask again.")
EMPTY = ("empty", UNAVAILABLE)
UNKNOWN_SURFACE = ("refused", "The assistant cannot take this question.")  # it was asked of a newer version
