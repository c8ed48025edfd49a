"""Fifty questions at once to one query worker."""

import pytest

from ragcore.runtime import Runtime
from tests.bench.people import new_person
from tests.bench.side_by_side import WORDS, Run, ask_at_once
from tests.support.sandbox import Sandbox

QUESTIONS = 50


@pytest.fixture
def fifty(runtime: Runtime, sandbox: Sandbox) -> Run:
    return ask_at_once(new_person(runtime, "fifty.localhost"), sandbox, QUESTIONS)


def test_fifty_answers_stream_side_by_side(fifty: Run) -> None:
    assert len(fifty.answers) == QUESTIONS
    for answer in fifty.answers:
        assert answer.words == WORDS
        assert answer.positions == list(range(len(WORDS)))
        assert answer.terminals == ["done"]
    assert fifty.last_first_word < fifty.first_done
