"""openRAG odd at every call while folders are indexed: an instance for each oddity, all at the same time."""

import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from deploy.local.stack import Stack
from ragcore.runtime import Runtime
from tests.integration.faults.conftest import Start
from tests.support.chaos import WHOLE, Tell, times, whole
from tests.support.rule import World, figures
from tests.support.sandbox import Sandbox
from tests.support.turmoil import turmoil_of

ODD: dict[str, dict[str, Any]] = {
    "answers 503": {"status": 503},
    "answers 500 once it has done what was asked": {"status": 500, "after": True},
    "answers 429 with Retry-After": {"status": 429, "headers": {"Retry-After": "2"}},
    "answers HTML": {"status": 200, "body": "<html>sign in</html>", "headers": {"Content-Type": "text/html"}},
    "answers an empty body": {"status": 200, "body": ""},
    "answers another JSON": {"status": 200, "body": "[]"},
    "cuts the connection": {"cut": True},
    "cuts the connection once it has done what was asked": {"cut": True, "after": True},
    "takes 2 s": {"delay": 2},
}
IN_SHORT = (
    "answers 500 once it has done what was asked",
    "answers 429 with Retry-After",
    "answers HTML",
    "cuts the connection once it has done what was asked",
)
FILES = times(6, 30)
CHANGES = times(6, 40)
ODD_FOR = times(3.0, 15.0)  # seconds
SETTLED = 100.0


@pytest.fixture(scope="module")
def own(start_stack: Start) -> Iterator[Stack]:
    jobs = {"rag-index": {"retry_delay": "3s"}}
    with start_stack("redis", "couchdb", "openrag", "api", "worker-index", jobs=jobs) as stack:
        yield stack


@pytest.mark.timeout(300)
@whole
def test_openrag_is_odd(own: Stack, runtime: Runtime, sandbox: Sandbox, until: Callable, tell: Tell) -> None:
    """At first for all calls, the listing of the workspaces among them; then for all others."""
    turmoils = {name: turmoil_of(runtime, random.Random(name)) for name in (ODD if WHOLE else IN_SHORT)}
    worlds = {name: World(own, turmoil.domain) for name, turmoil in turmoils.items()}
    for turmoil in turmoils.values():
        turmoil.begin(FILES, go_on=False)
    for only in ("", "/file"):
        for name, world in worlds.items():
            sandbox.fault(route=f"{world.domain}.*{only}", times=None, **ODD[name])
        until_then = time.monotonic() + ODD_FOR
        for _ in range(CHANGES // 2):
            for turmoil in turmoils.values():
                turmoil.change()
        time.sleep(max(0.0, until_then - time.monotonic()))  # so long it is odd
        sandbox.reset()
    began = time.monotonic()
    for turmoil in turmoils.values():
        turmoil.end()
    took: dict[str, float] = {}

    def are_settled() -> bool:
        for name, world in worlds.items():
            if name not in took and world.is_settled():
                took[name] = round(time.monotonic() - began, 1)
        return len(took) == len(worlds)

    try:
        until(are_settled, within=SETTLED)
    finally:
        for name, world in worlds.items():
            changes = f"indexing with {turmoils[name].changes} changes"
            tell(changes, f"openRAG {name}", **figures([world]), s_until_settled=took.get(name, "never"))
