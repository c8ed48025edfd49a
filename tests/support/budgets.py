"""Plans, and what is left of them, for tests."""

import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ragcore.budgets.counters import SINCE
from ragcore.chat.answer import answer_question
from ragcore.config import Config
from ragcore.instances import Instance
from ragcore.jobs import AnswerJob
from ragcore.runtime import Runtime
from ragcore.surfaces import WAYS
from tests.support.chat import Answerer

Json = dict[str, Any]


def with_plans(runtime: Runtime, **plans: Json) -> Runtime:
    """Another process, whose configuration has these plans."""
    checked = Config.model_validate({"plans": plans}).plans
    return Runtime(runtime.config.model_copy(update={"plans": checked}))


def member(runtime: Runtime, org_id: str) -> Instance:
    """A new instance of an organisation."""
    return runtime.instances.add(f"member{uuid.uuid4().hex[:12]}.localhost", org_id=org_id)


def empty(runtime: Runtime) -> None:
    """Redis forgets all budgets, as when it lost its data."""
    runtime.redis.delete(SINCE, *runtime.redis.scan_iter("ragcore:budget:*"))


def at_once(answerers: Sequence[Answerer]) -> None:
    """Each worker answers all that waits for it, at the same time."""
    jobs = [(answerer, answerer.jobs.pop()) for answerer in answerers for _ in range(len(answerer.jobs))]

    def answer(job: tuple[Answerer, AnswerJob]) -> None:
        answer_question(job[0].runtime, job[0], job[1], WAYS)

    with ThreadPoolExecutor(max(len(jobs), 1)) as pool:
        list(pool.map(answer, jobs))


def used(runtime: Runtime, instance: Instance, of: str = "tokens") -> int:
    n: int = runtime.budgets.usage(instance)[of]["used"]
    return n
