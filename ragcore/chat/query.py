"""The chat's way of asking: openRAG finds the passages, and the LLM may propose an action of the client."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ragcore.chat import messages
from ragcore.chat.arguments import Action, Dropped, action_of
from ragcore.chat.errors import EMPTY, AnswerError
from ragcore.chat.reading import Reading
from ragcore.chat.tools import Tool, parse_tools
from ragcore.chat.user_written import Written
from ragcore.errors import NotFound, Retryable
from ragcore.openrag import OpenRag

log = logging.getLogger(__name__)

Json = dict[str, Any]


@dataclass(frozen=True)
class Query(Reading):
    """openRAG is asked once, and once more without the tools when the LLM made no good use of them."""

    def ask(self) -> Action | None:
        tools = parse_tools(self.job.tools, "/tools") if messages.may_have_tools(self.asked) else ()
        self._ask(tools)
        action = self._action(tools)
        if action is None and not self.stream.has_text and tools and self.stream.calls.first():
            self.stream.begin_again()
            self._ask(())
        if action is None and not self.stream.has_text:
            raise AnswerError(*EMPTY)
        return action

    def _action(self, tools: Sequence[Tool]) -> Action | None:
        """None when there is no call, or one that no action can be made of."""
        call = self.stream.calls.first()
        if call is None or not tools:
            return None
        try:
            if self.stream.broke_off and not call.arguments:
                raise Dropped(f"the stream broke off before the arguments of {call.name}")
            return action_of(call, tools, Written(messages.written(self.asked)).find)
        except Dropped as error:
            log.info("%s: question %s: a call is dropped: %s", self.job.domain, self.job.question_id, error)
            return None

    def _ask(self, tools: Sequence[Tool]) -> None:
        single_call = self.instance.rag_server(self.runtime.config).single_tool_call
        body = messages.completion(self.asked, self.job, self.scope, tools, single_call)
        self.read_to_end(lambda: self._read_or_create_partition(self.runtime.openrag(self.instance), body))

    def _read_or_create_partition(self, openrag: OpenRag, body: Json) -> None:
        """The first question of an instance may come before its first file. A scoped one makes no partition."""
        try:
            self.read(openrag, body, self.stream.take)
        except NotFound:
            if "workspace" in body["metadata"] or "model" not in body:
                raise Retryable("openRAG does not know the workspace, or the route") from None
            openrag.create_partition()
        else:
            return
        try:
            self.read(openrag, body, self.stream.take)
        except NotFound:
            raise Retryable("openRAG does not know the partition that it made, or the route") from None
