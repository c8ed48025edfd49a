"""Files of an instance, for tests."""

import io
import uuid

from ragcore.documents import ASSISTANTS, FILES, ROOT_ID, Directory
from ragcore.files.edit import Editor
from ragcore.instances import Instance
from ragcore.runtime import Runtime
from ragcore.store import Document


def new_instance(runtime: Runtime, name: str = "t") -> Instance:
    """With the folders that every instance has."""
    made = runtime.instances.add(f"{name}{uuid.uuid4().hex[:12]}.localhost")
    Editor(runtime.store, runtime.storage, made).prepare()
    return made


class Drive:
    """The files of an instance, written as the product writes them."""

    def __init__(self, runtime: Runtime, instance: Instance) -> None:
        self.runtime = runtime
        self.instance = instance
        self.editor = Editor(runtime.store, runtime.storage, instance)

    def folder(self, path: str) -> Directory:
        return self.editor.mkdir(path)

    def file(self, path: str, content: str) -> Document:
        parent, _, name = path.rpartition("/")
        return self.editor.add_file(self.folder(parent or "/"), name, io.BytesIO(content.encode()))

    def replace(self, file: Document, content: str) -> Document:
        return self.editor.replace_content(file, io.BytesIO(content.encode()))

    def assistant(self, folder: Directory | None = None, former: bool = False, **fields: object) -> str:
        """The id of a new assistant, its knowledge base in the current or in the former spelling."""
        doc: Document = {"name": "Assistant", **fields}
        if folder and former:
            doc["knowledgeBase"] = [{"doctype": FILES, "dirId": folder.id}]
        elif folder:
            doc["relationships"] = {"knowledgeBase": {"data": [{"_id": folder.id, "_type": FILES}]}}
        saved: str = self.runtime.store.save(self.instance, ASSISTANTS, doc)["_id"]
        return saved

    @property
    def root(self) -> Directory:
        return Directory.from_document(self.runtime.store.get(self.instance, FILES, ROOT_ID))
