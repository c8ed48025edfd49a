"""Who asks in the benchmarks: a fresh instance of a running stack, with an assistant on an indexed folder."""

from dataclasses import dataclass

from deploy.local.stack import Stack
from ragcore import config
from ragcore.openrag.names import workspace_of
from ragcore.runtime import Runtime
from tests.support.api import Client
from tests.support.files import Drive


@dataclass(frozen=True)
class Person:
    client: Client
    assistant: str


def runtime_of(stack: Stack) -> Runtime:
    return Runtime(config.load(path=stack.config_path))


def new_person(runtime: Runtime, domain: str) -> Person:
    """Nothing of the instance has gone through a process of the stack yet, and it has no conversation."""
    instance = runtime.instances.add(domain)
    drive = Drive(runtime, instance)
    drive.editor.prepare()
    folder = drive.folder("/Documents")
    openrag = runtime.openrag(instance)
    openrag.create_partition()
    openrag.create_workspace(workspace_of(folder.id), "Documents")
    person = Person(Client(runtime.config.public_url(domain), instance), drive.assistant(folder))
    runtime.publisher.flush()
    return person
