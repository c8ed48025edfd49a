import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.jobs import AnswerJob, FeedJob, WalkJob, from_message, to_message

flags = st.dictionaries(st.text(), st.none() | st.booleans() | st.text())


@given(st.builds(AnswerJob, flags=flags) | st.builds(FeedJob) | st.builds(WalkJob))
def test_a_job_is_the_same_after_its_way_through_the_broker(job: Any) -> None:
    assert from_message(type(job), json.loads(json.dumps(to_message(job)))) == job


def test_fields_of_a_newer_version_are_left_out() -> None:
    assert from_message(WalkJob, {"domain": "d", "dir_id": "x", "place": 3}) == WalkJob("d", "x")


def test_a_message_of_an_older_version_gets_the_defaults() -> None:
    job = from_message(AnswerJob, {"domain": "d", "prefix": "p", "conversation_id": "c", "question_id": "q"})
    assert (job.stream, job.websearch, job.documents, job.instructions) == (True, False, True, "")


def test_a_message_that_lacks_what_is_needed() -> None:
    with pytest.raises(TypeError):
        from_message(WalkJob, {"domain": "d"})
