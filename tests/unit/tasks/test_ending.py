import pytest

from ragcore.config import Jobs
from tasks.app import INDEX, QUERY, SCHEDULE
from tasks.ending import grace

JOBS = Jobs.model_validate({"rag-index": {"grace": "20s"}, "rag-query": {"grace": "1m"}})


@pytest.mark.parametrize(
    ("queues", "seconds"), [([QUERY], 60), ([INDEX], 20), ([SCHEDULE], 0), ([INDEX, QUERY, SCHEDULE], 60), ([], 0)]
)
def test_the_jobs_of_a_worker_have_the_time_of_its_queues(queues: list[str], seconds: float) -> None:
    assert grace(JOBS, queues) == seconds
