"""What clients and people write to have a trigger, read and checked."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ragcore.errors import Invalid, NotFound, Unprocessable
from ragcore.job_documents import job_of, require_worker
from ragcore.store import Document
from ragcore.triggers.documents import EVENT, KINDS, Trigger
from ragcore.triggers.schedules import LONGEST

ATTRIBUTES = "/data/attributes"


def new_trigger(attributes: Document) -> Trigger:
    """The trigger that the attributes ask for.

    Raises Unprocessable, naming the attribute; Forbidden for a worker that no client may push.
    """
    message, named = _message(attributes)
    trigger = Trigger(
        type=_text(attributes, "type"),
        arguments=_text(attributes, "arguments"),
        worker=_text(attributes, "worker"),
        message=message,
        debounce=_text(attributes, "debounce"),
        options=_options(attributes),
    )
    if trigger.type not in KINDS:
        raise Unprocessable(f"a trigger has one of the types {', '.join(KINDS)}", f"{ATTRIBUTES}/type")
    with _about("worker"):
        require_worker(trigger.worker)
    with _about("arguments"):
        _ = trigger.rules if trigger.type == EVENT else trigger.schedule
    with _about("debounce"):
        _check_delay(trigger)
    with _about(named):
        job_of("", message)
    return trigger


def _text(attributes: Document, name: str) -> str:
    value = attributes.get(name)
    if value is not None and not isinstance(value, str):
        raise Unprocessable(f"{name} is a text", f"{ATTRIBUTES}/{name}")
    return value or ""


def _message(attributes: Document) -> tuple[Any, str]:
    """The message, and the name that it was given under."""
    former = attributes.get("message") is None and attributes.get("worker_arguments") is not None
    name = "worker_arguments" if former else "message"
    return attributes.get(name), name


def _options(attributes: Document) -> dict[str, Any] | None:
    options = attributes.get("options")
    if options is not None and not isinstance(options, dict):
        raise Unprocessable("options is an object", f"{ATTRIBUTES}/options")
    return options


def _check_delay(trigger: Trigger) -> None:
    if trigger.delay > LONGEST:
        raise ValueError("a debounce is at most ten years")


@contextmanager
def _about(name: str) -> Iterator[None]:
    """An error inside the context, as one of an attribute."""
    try:
        yield
    except Invalid as error:
        raise Unprocessable(str(error), f"{ATTRIBUTES}/{name}{error.pointer}") from None
    except (ValueError, NotFound) as error:
        raise Unprocessable(str(error), f"{ATTRIBUTES}/{name}") from None
