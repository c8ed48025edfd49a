"""One of several processes has the lead."""

import threading
from collections.abc import Callable

import pytest

from ragcore.runtime import Runtime
from ragcore.watch import lead as lead_module
from ragcore.watch.lead import Lead


def test_one_has_it_and_another_takes_over_when_it_resigns(apart: Runtime) -> None:
    one, two = Lead(apart.redis, "lead"), Lead(apart.redis, "lead")
    assert (one.take(), two.take()) == (True, False)
    assert (one.is_mine, two.is_mine) == (True, False)
    assert one.take()
    two.resign()  # takes nothing away from who has it
    assert one.take()
    one.resign()
    assert not one.is_mine
    assert Lead(apart.redis, "lead").take()


def test_a_lead_that_is_not_renewed_runs_out(apart: Runtime, monkeypatch: pytest.MonkeyPatch, until: Callable) -> None:
    monkeypatch.setattr(lead_module, "LEASE", 0.05)
    one, two = Lead(apart.redis, "lead"), Lead(apart.redis, "lead")
    assert one.take()
    until(two.take)
    assert not one.is_mine


def test_what_began_with_a_lead_ends_with_it(apart: Runtime, monkeypatch: pytest.MonkeyPatch, until: Callable) -> None:
    monkeypatch.setattr(lead_module, "RENEW_EVERY", 0.02)
    begun: list[Callable[[], bool]] = []
    lead = Lead(apart.redis, "lead")
    thread = threading.Thread(target=lead.run, args=(begun.append,), daemon=True)
    thread.start()
    until(lambda: begun)
    assert begun[0]()
    apart.redis.set("lead", "another")
    until(lambda: not begun[0]())
    apart.redis.delete("lead")
    until(lambda: len(begun) == 2)
    assert begun[1]()
    assert not begun[0]()
    lead.resign()
    thread.join()
    assert not begun[1]()
