"""Workers that end, or freeze, in the middle of answers, and messages that come twice."""

import signal
import time
from collections.abc import Callable, Iterable, Iterator

import pytest
from redis import Redis

from deploy.local.process import Process
from deploy.local.stack import Stack
from ragcore.documents import CONVERSATIONS
from ragcore.questions import Question
from ragcore.runtime import Runtime
from tests.integration.faults.conftest import Start, owed
from tests.support.api import Client
from tests.support.audience import Listener, tally
from tests.support.chaos import Tell, times, whole
from tests.support.questions import docs, terminals
from tests.support.sandbox import Sandbox
from tests.support.workers import query_worker, running, suspended

ANSWERS = 20
HEARD = times(30, 15)  # seconds after the death of a worker: 15, unless other tests take the processor
GRACE = times(4, 30)  # seconds
ENDLESS = [{"content": "begun"}, *[{"sleep": 0.2}, {"content": " more"}] * 300]
HELD = [{"content": "begun"}, {"hold": "all"}, {"content": " more"}]
NOTHING_LOST = {"hung": 0, "lost": 0, "doubled": 0, "out_of_order": 0}


@pytest.fixture(scope="module")
def own(start_stack: Start) -> Iterator[Stack]:
    with start_stack("redis", "couchdb", "openrag", "api", jobs={"rag-query": {"grace": f"{GRACE}s"}}) as stack:
        yield stack


def ask(client: Client, q: str, times: int) -> dict[str, str]:
    """The ids of questions, and of their conversations."""
    asked = [client.ask(q, documents=False) for _ in range(times)]
    return {question: conversation for conversation, question in asked}


def begun(heard: Listener, questions: Iterable[str]) -> bool:
    return all(heard.told(question).docs for question in questions)


def contents(runtime: Runtime, client: Client, conversations: Iterable[str]) -> list[list[str]]:
    docs = (runtime.store.get(client.instance, CONVERSATIONS, conversation) for conversation in conversations)
    return [[message["content"] for message in doc["messages"]] for doc in docs]


def deliver_again(redis: Redis) -> int:
    """The visibility time-out of all unacknowledged messages passes, which the next worker sees: how many."""
    tags = redis.hkeys("unacked")
    redis.zadd("unacked_index", dict.fromkeys(tags, 1))
    return len(tags)


def refused(worker: Process) -> int:
    """The messages that it made nothing of."""
    return worker.output().count("is not to be answered")


def has_no_messages(redis: Redis) -> bool:
    return not redis.hlen("unacked") and not redis.llen("rag-query")


def test_a_killed_worker(
    own: Stack, runtime: Runtime, client: Client, sandbox: Sandbox, until: Callable, tell: Tell
) -> None:
    """Its messages come again, and make no second answer; who waited for one of its questions is answered."""
    sandbox.script(*ENDLESS, match="Slow", times=2 * ANSWERS)
    sandbox.script({"content": "Yes."}, match="Quick")
    with Listener(client) as heard:
        killed, following = query_worker(own, "killed", 32), query_worker(own, "following", 32)
        with running(killed):
            slow = ask(client, "Slow", ANSWERS)
            conversation = next(iter(slow.values()))
            _, quick = client.ask("Quick", conversation, documents=False)
            until(lambda: begun(heard, slow))
            began = time.monotonic()
            killed.kill()
        until(lambda: heard.has_ends(slow), within=HEARD)
        seconds = round(time.monotonic() - began, 1)
        again = deliver_again(runtime.redis)
        with running(following):
            until(lambda: heard.has_ends([quick]) and has_no_messages(runtime.redis))
            until(lambda: not owed(runtime))
        figures = tally(map(heard.told, slow))
        tell("20 answers", "SIGKILL to their worker, their messages come again", **figures, again=again, s=seconds)
    assert figures == {"answered": 0, "told error": 20} | NOTHING_LOST
    assert heard.told(quick).ends == ["done"]
    assert again == ANSWERS
    assert len(sandbox.completions()) == ANSWERS + 1
    (first, *others) = contents(runtime, client, slow.values())
    assert first == ["Slow", "Quick", "Yes."]
    assert others == [["Slow"]] * (ANSWERS - 1)


@whole
def test_messages_that_come_twice(
    own: Stack, runtime: Runtime, client: Client, sandbox: Sandbox, until: Callable, tell: Tell
) -> None:
    sandbox.script(*HELD, match="Held", times=2 * ANSWERS)
    first, second = query_worker(own, "first", 32), query_worker(own, "second", 32)
    with Listener(client) as heard, running(first):
        held = ask(client, "Held", ANSWERS)
        until(lambda: begun(heard, held))
        messages = runtime.redis.hvals("unacked")
        while_running = deliver_again(runtime.redis)
        with running(second):
            until(lambda: refused(first) + refused(second) == ANSWERS)
            sandbox.release("all")
            until(lambda: heard.has_ends(held) and has_no_messages(runtime.redis))
            runtime.redis.hset("unacked", mapping={f"again {n}": raw for n, raw in enumerate(messages)})
            afterwards = deliver_again(runtime.redis)
            third = query_worker(own, "third", 32)
            with running(third):
                until(lambda: has_no_messages(runtime.redis))
    figures = tally(map(heard.told, held))
    tell("20 answers", "their messages come again", **figures, again=while_running)
    tell("20 answers that are over", "their messages come again", **figures, again=afterwards)
    assert figures == {"answered": 20, "told error": 0} | NOTHING_LOST
    assert while_running == afterwards == ANSWERS
    assert len(sandbox.completions()) == ANSWERS
    assert contents(runtime, client, held.values()) == [["Held", "begun more"]] * ANSWERS


def test_a_worker_that_is_told_to_end(
    own: Stack, runtime: Runtime, client: Client, sandbox: Sandbox, until: Callable, tell: Tell
) -> None:
    """Eight answers end while it does; what is asked meanwhile is another's."""
    sandbox.script(*HELD, match="Soon", times=8)
    sandbox.script(*ENDLESS, match="Slow", times=12)
    sandbox.script({"content": "Yes."}, match="Late", times=8)
    ending, other = query_worker(own, "ending", 32), query_worker(own, "other", 8)
    with running(ending), Listener(client) as heard:
        soon, slow = ask(client, "Soon", 8), ask(client, "Slow", 12)
        until(lambda: begun(heard, [*soon, *slow]))
        with running(other):
            ending.handle.terminate()
            told = time.monotonic()
            until(lambda: "Warm shutdown" in ending.output())
            sandbox.release("all")
            late = ask(client, "Late", 8)
            until(lambda: heard.has_ends(late))
            answered = time.monotonic() - told
            status = ending.handle.wait(GRACE + 20)
            ended = time.monotonic() - told
            until(lambda: heard.has_ends([*soon, *slow]))
    figures = tally(map(heard.told, [*soon, *slow]))
    tell("20 answers", f"SIGTERM to their worker, {GRACE} s of grace", **figures, s=round(ended, 1))
    tell("8 questions", "SIGTERM to one of two workers", **tally(map(heard.told, late)), s=round(answered, 1))
    assert figures == {"answered": 8, "told error": 12} | NOTHING_LOST
    assert {end for question in slow for end in heard.told(question).ends} == {"interrupted"}
    assert tally(map(heard.told, late)) == {"answered": 8, "told error": 0} | NOTHING_LOST
    assert status == 0
    assert ended >= GRACE
    assert contents(runtime, client, soon.values()) == [["Soon", "begun more"]] * 8
    assert contents(runtime, client, slow.values()) == [["Slow"]] * 12
    assert [call["closed_early"] for call in sandbox.calls("/v1/chat/completions")].count(True) == 12
    assert has_no_messages(runtime.redis)


@whole
def test_workers_that_have_no_time_to_end(
    own: Stack, runtime: Runtime, client: Client, sandbox: Sandbox, until: Callable, tell: Tell
) -> None:
    """One is told twice, the other with SIGQUIT."""
    sandbox.script(*ENDLESS, match="Slow", times=ANSWERS)
    long = {"RAGCORE_JOBS_RAG_QUERY_GRACE": "10m"}
    twice, quit_ = (query_worker(own, name, ANSWERS // 2, **long) for name in ("twice", "quit"))
    with running(twice, quit_), Listener(client) as heard:
        slow = ask(client, "Slow", ANSWERS)
        until(lambda: begun(heard, slow))
        told = time.monotonic()
        twice.handle.terminate()
        quit_.handle.send_signal(signal.SIGQUIT)
        until(lambda: "Warm shutdown" in twice.output())
        twice.handle.terminate()
        statuses = [worker.handle.wait(30) for worker in (twice, quit_)]
        ended = time.monotonic() - told
        until(lambda: heard.has_ends(slow))
    figures = tally(map(heard.told, slow))
    tell("20 answers of two workers", "SIGTERM twice to one, SIGQUIT to the other", **figures, s=round(ended, 1))
    assert figures == {"answered": 0, "told error": 20} | NOTHING_LOST
    assert statuses == [0, 0]
    assert has_no_messages(runtime.redis)


@whole
def test_a_worker_is_told_to_end_while_redis_is_away(own: Stack, until: Callable, tell: Tell) -> None:
    worker, redis = query_worker(own, "cut off", 4), own.processes["redis"]
    with running(worker):
        redis.stop()
        try:
            until(lambda: "Trying again" in worker.output())
            worker.handle.terminate()
            told = time.monotonic()
            status = worker.handle.wait(30)
        finally:
            redis.start()
    tell("nothing", "SIGTERM to a worker while Redis is away", s=round(time.monotonic() - told, 1))
    assert status == 0
    assert "Traceback" not in worker.output().partition("Warm shutdown")[2]


@whole
def test_a_frozen_worker_that_wakes_adds_nothing(
    own: Stack, runtime: Runtime, client: Client, sandbox: Sandbox, until: Callable, tell: Tell
) -> None:
    """The sweep is another worker's: the API is frozen too. One answer is whole when the worker wakes."""
    sandbox.script(*ENDLESS, match="Endless")
    sandbox.script({"content": "begun"}, {"sleep": 8}, {"content": " and whole"}, match="Whole")
    frozen, awake = query_worker(own, "frozen", 8), query_worker(own, "awake", 8)
    with Listener(client) as heard, running(frozen):
        asked = ask(client, "Endless", 1) | ask(client, "Whole", 1)
        questions = [Question(client.instance.domain, conversation, id_) for id_, conversation in asked.items()]
        until(lambda: begun(heard, asked))
        with running(awake), suspended(own.processes["api"]):
            frozen.handle.suspend()
            until(lambda: all(terminals(runtime, question) for question in questions), within=HEARD)
        told = [docs(runtime, question) for question in questions]
        frozen.handle.resume()
        until(lambda: [call["closed_early"] for call in sandbox.calls("/v1/chat/completions")] == [True, False])
        until(lambda: all(f"question {id_} was ended by somebody else" in frozen.output() for id_ in asked))
        until(lambda: heard.has_ends(asked))
    figures = tally(map(heard.told, asked))
    tell("2 answers", "their worker is frozen, and the API; both wake", **figures)
    assert figures == {"answered": 0, "told error": 2} | NOTHING_LOST
    assert [docs(runtime, question) for question in questions] == told
    assert contents(runtime, client, asked.values()) == [["Endless"], ["Whole"]]
