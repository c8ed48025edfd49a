"""Uploads in flight, as Redis keeps them."""

import uuid
from collections.abc import Callable

import pytest

from ragcore.errors import Retryable, Unanswered
from ragcore.indexing import uploads as uploads_module
from ragcore.indexing.uploads import KEPT, Sent, Uploads, digest_of
from ragcore.runtime import Runtime
from tests.support.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def uploads(runtime: Runtime, clock: Clock) -> Uploads:
    return Uploads(runtime.redis, f"{uuid.uuid4().hex}.localhost", clock)


def send(uploads: Uploads, file_id: str, digest: str, method: str) -> None:
    with uploads.sending(file_id, digest, method):
        pass


def test_an_upload_is_known_until_it_ends(uploads: Uploads, clock: Clock) -> None:
    assert uploads.of("f") == Sent()
    send(uploads, "f", "first", "POST")
    assert uploads.of("f") == Sent("first", "POST", clock.now)
    clock.now += 5
    send(uploads, "f", "second", "PUT")
    assert uploads.of("f") == Sent("second", "PUT", clock.now)
    uploads.ended("f")
    uploads.ended("f")
    assert uploads.of("f") == Sent()


def test_an_instance_knows_its_own_alone(uploads: Uploads, runtime: Runtime, clock: Clock) -> None:
    other = Uploads(runtime.redis, f"other-{uploads.domain}", clock)
    send(uploads, "f", "d", "POST")
    send(uploads, "g", "d", "POST")
    send(other, "h", "d", "POST")
    assert sorted(uploads.all()) == ["f", "g"]
    uploads.forget()
    assert uploads.all() == []
    assert other.all() == ["h"]


def test_a_callback_that_is_lost_is_waited_for_an_hour(uploads: Uploads, clock: Clock) -> None:
    send(uploads, "f", "d", "POST")
    clock.now += KEPT - 60
    send(uploads, "g", "d", "POST")
    assert sorted(uploads.all()) == ["f", "g"]
    clock.now += 60
    assert uploads.of("f") == Sent()
    assert uploads.all() == ["g"]


def test_redis_keeps_it_no_longer_than_that(uploads: Uploads, runtime: Runtime) -> None:
    send(uploads, "f", "d", "POST")
    (key,) = runtime.redis.keys(f"ragcore:uploads:{{{uploads.domain}}}")
    assert 0 < runtime.redis.ttl(key) <= KEPT


def test_there_is_an_end_to_what_is_kept(uploads: Uploads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads_module, "MOST", 3)
    for number in range(3):
        send(uploads, str(number), "d", "POST")
    assert len(uploads.all()) == 3
    send(uploads, "one more", "d", "POST")
    assert len(uploads.all()) <= 3


@pytest.mark.parametrize(
    "ask", [lambda uploads: uploads.of("f"), lambda uploads: uploads.all(), lambda uploads: uploads.forget()]
)
def test_without_redis_nobody_knows(runtime: Runtime, clock: Clock, ask: Callable[[Uploads], object]) -> None:
    away = runtime.config.model_copy(
        update={"redis": runtime.config.redis.model_copy(update={"url": "redis://127.0.0.1:1/0"})}
    )
    uploads = Uploads(Runtime(away).redis, "a.localhost", clock)
    with pytest.raises(Retryable):
        ask(uploads)
    send(uploads, "f", "d", "POST")  # an upload is not lost because of it
    uploads.ended("f")


def test_a_digest_tells_its_parts_apart() -> None:
    digests = {
        digest_of("a", "b"), digest_of("ab", ""), digest_of("a", ["b"]), digest_of("a", "b", ""), digest_of("b", "a"),
    }  # fmt: skip
    assert len(digests) == 5
    assert digest_of("a", ["b", "c"]) == digest_of("a", ["b", "c"])


@pytest.mark.parametrize(("error", "noted"), [(Unanswered("cut"), "second"), (Retryable("503"), "first")])
def test_an_upload_that_may_have_arrived_stays_noted(uploads: Uploads, error: Exception, noted: str) -> None:
    send(uploads, "f", "first", "POST")
    with pytest.raises(Retryable), uploads.sending("f", "second", "PUT"):
        raise error
    assert uploads.of("f").digest == noted
