import threading

import pytest

from api import outbox
from api.outbox import Full, Outbox


@pytest.fixture
def box(monkeypatch: pytest.MonkeyPatch) -> Outbox:
    """An outbox that holds ten characters."""
    monkeypatch.setattr(outbox, "LARGEST", 10)
    return Outbox()


def test_texts_come_out_in_order(box: Outbox) -> None:
    for text in ("a", "b", "c"):
        box.put(text)
    assert [box.get(), box.get(), box.get()] == ["a", "b", "c"]


def test_an_outbox_is_bounded_by_the_size_of_its_texts(box: Outbox) -> None:
    box.put("x" * 6)
    with pytest.raises(Full):
        box.put("x" * 5)
    box.put("x" * 4)
    box.get()
    box.put("x" * 6)


def test_a_patient_sender_waits_for_room(box: Outbox) -> None:
    box.put("x" * 10)
    reader = threading.Thread(target=box.get)
    reader.start()
    box.put("y", patience=10)
    reader.join(10)
    assert box.get() == "y"


def test_a_reader_waits_for_a_text(box: Outbox) -> None:
    got: list[str | None] = []
    reader = threading.Thread(target=lambda: got.append(box.get()))
    reader.start()
    box.put("a")
    reader.join(10)
    assert got == ["a"]


def test_a_waiting_reader_hears_the_end(box: Outbox) -> None:
    got: list[str | None] = ["nothing yet"]
    reader = threading.Thread(target=lambda: got.append(box.get()))
    reader.start()
    box.close()
    reader.join(10)
    assert got[1:] == [None]


def test_an_outbox_is_bounded_in_bytes(box: Outbox) -> None:
    with pytest.raises(Full):
        box.put("😀" * 3)
