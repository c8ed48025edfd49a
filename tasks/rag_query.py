"""The tasks of the query workers."""

from typing import Any

from ragcore.chat.answer import answer_question
from ragcore.jobs import AnswerJob, from_message
from tasks.app import QUERY, app
from tasks.base import RagTask


@app.task(base=RagTask, bind=True, name=f"{QUERY}.answer")
def answer(self: RagTask, **message: Any) -> None:
    answer_question(self.runtime, self.jobs, from_message(AnswerJob, message))
