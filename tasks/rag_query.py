"""The tasks of the query workers."""

from typing import Any

from ragcore.chat.answer import answer_question
from ragcore.grounded.summary import refresh
from ragcore.jobs import AnswerJob, SummaryJob, from_message
from ragcore.surfaces import WAYS
from tasks.app import QUERY, app
from tasks.base import RagTask


@app.task(base=RagTask, bind=True, name=f"{QUERY}.answer")
def answer(self: RagTask, **message: Any) -> None:
    answer_question(self.runtime, self.jobs, from_message(AnswerJob, message), WAYS)


@app.task(base=RagTask, bind=True, name=f"{QUERY}.grounded")
def grounded(self: RagTask, **message: Any) -> None:
    answer_question(self.runtime, self.jobs, from_message(AnswerJob, message), WAYS)


@app.task(base=RagTask, bind=True, name=f"{QUERY}.summarize")
def summarize(self: RagTask, **message: Any) -> None:
    refresh(self.runtime, self.jobs, from_message(SummaryJob, message))
