"""The models of an instance: all of its documents, and the folder of each assistant that has one."""

from collections.abc import Iterator
from dataclasses import dataclass

from ragcore.chat.conversations import assistant_id_of
from ragcore.documents import ASSISTANTS, CONVERSATIONS, LONGEST_ID, Assistant
from ragcore.errors import Invalid, NotFound
from ragcore.instances import Instance
from ragcore.store import Store

WHOLE = "ragcore"  # the model of all documents
OF_ASSISTANT = f"{WHOLE}-"  # and the id of the assistant: names change


class UnknownModel(NotFound):
    code = "model_not_found"


@dataclass(frozen=True)
class Model:
    """`assistant_id` is empty for all documents."""

    assistant_id: str = ""
    name: str = ""

    @property
    def id(self) -> str:
        return f"{OF_ASSISTANT}{self.assistant_id}" if self.assistant_id else WHOLE


@dataclass(frozen=True)
class Models:
    """Each call raises Retryable when the documents cannot be read."""

    store: Store
    instance: Instance

    def all(self) -> Iterator[Model]:
        yield Model(name=self.instance.domain)
        for assistant in map(Assistant.from_document, self.store.all(self.instance, ASSISTANTS)):
            if assistant.folder:
                yield Model(assistant.id, assistant.name)

    def get(self, model_id: str) -> Model:
        """Raises UnknownModel."""
        if model_id == WHOLE:
            return Model(name=self.instance.domain)
        assistant_id = model_id.removeprefix(OF_ASSISTANT)
        try:
            if assistant_id in ("", model_id) or assistant_id.startswith("_") or len(assistant_id) > LONGEST_ID:
                raise NotFound("this is the id of no assistant")
            assistant = Assistant.from_document(self.store.get(self.instance, ASSISTANTS, assistant_id))
        except NotFound:
            assistant = None
        if assistant is None or not assistant.folder:
            raise UnknownModel("there is no such model: GET /v1/models lists those of this instance")
        return Model(assistant.id, assistant.name)

    def check_conversation(self, model: Model, conversation_id: str) -> None:
        """A conversation keeps its documents: none goes on with the folder of another assistant.

        Raises NotFound, Invalid.
        """
        if conversation_id.startswith("_") or len(conversation_id) > LONGEST_ID:
            raise NotFound("there is no such conversation")
        begun = assistant_id_of(self.store.get(self.instance, CONVERSATIONS, conversation_id))
        if model.assistant_id not in ("", begun):
            raise Invalid(f"this conversation is answered from other documents: name {WHOLE}", "/model")
